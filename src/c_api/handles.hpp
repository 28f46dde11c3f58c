#pragma once

#include <string>

#include "c_api/call.hpp"
#include "tacet.h"
#include "tacet/engine.hpp"
#include "tacet/model.hpp"
#include "tacet/session.hpp"

/// What the opaque handles of tacet.h are.
struct tacet_engine final : tacet::c_api::Handle {
  explicit tacet_engine(tacet::Engine value) : Handle(Use::shared), engine(std::move(value)) {}
  tacet::Engine engine;
};

struct tacet_model final : tacet::c_api::Handle {
  explicit tacet_model(tacet::Model value) : Handle(Use::shared), model(std::move(value)) {}
  tacet::Model model;
};

struct tacet_session final : tacet::c_api::Handle {
  tacet_session(tacet::Model of, tacet::Session value, std::string system_message)
      : Handle(Use::exclusive),
        model(std::move(of)),
        session(std::move(value)),
        system(std::move(system_message)) {}
  tacet::Model model;
  tacet::Session session;
  std::string system;  ///< of a chat; empty: none
};
