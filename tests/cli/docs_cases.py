"""The documents are true: their code compiles, and README's program runs against an installed tacet."""

import os
import re
import shutil
import subprocess

import program
from program import ROOT, Case

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wnon-virtual-dtor", "-Werror"]


def blocks(document, language="cpp"):
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / document).read_text(), re.MULTILINE | re.DOTALL)


def build():
    return program.PATH.parent


def compiler(language="CXX"):
    cache = build() / "CMakeCache.txt"
    found = re.search(rf"^CMAKE_{language}_COMPILER:\w+=(.+)$", cache.read_text() if cache.exists() else "", re.MULTILINE)
    return found.group(1) if found else {"CXX": "c++", "C": "cc"}[language]


class Code(Case):
    def compiles(self, text, *flags, language="CXX"):
        source = self.folder / ("code.cpp" if language == "CXX" else "code.c")
        source.write_text(text)
        standard = "-std=c++20" if language == "CXX" else "-std=c11"
        run = subprocess.run([compiler(language), standard, *flags, f"-I{self.folder}", f"-I{ROOT}/include", f"-I{ROOT}/src",
                              f"-I{ROOT}/tests", "-fsyntax-only", source], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr[:3000])

    def test_backend(self):
        header = self.folder / "backends/sample/sample_device.hpp"
        header.parent.mkdir(parents=True)
        header.write_text('#pragma once\n#include "backends/device.hpp"\n'
                          "namespace tacet { Result<std::unique_ptr<Device>> make_sample_device(); }\n")
        skeleton, = blocks("docs/add-a-backend.md")
        self.compiles(skeleton, *WARNINGS)

    def test_op(self):
        op, declaration, kernel, row, cases = blocks("docs/add-an-op.md")
        declared = self.folder / "declared.hpp"
        declared.write_text(f'#include "ops/ops.hpp"\nnamespace tacet::ops {{\n{declaration}}}\n'
                            '#include "ops/cases.hpp"\nnamespace tacet::op_tests { std::vector<Case> relu_cases(); }\n')
        self.compiles(op, "-include", str(declared), *WARNINGS)
        self.compiles(cases, "-include", str(declared), *WARNINGS)
        self.compiles('#include "backends/cpu/simd/portable.hpp"\n#include "backends/cpu/table.hpp"\n'
                      f"namespace tacet::cpu {{\n{kernel}\ntemplate <typename S>\ninline constexpr std::array more{{\n{row}}};\n"
                      "const auto& used = more<Portable>;\n}\n", "-include", str(declared))

    def test_model(self):
        family, graph = blocks("docs/add-a-model.md")
        declared = self.folder / "declared.hpp"
        declared.write_text('#include "models/architecture.hpp"\nnamespace tacet::models { extern const Architecture example; }\n')
        self.compiles(family, "-include", str(declared), *WARNINGS)
        self.compiles('#include "graph/builder.hpp"\n#include "models/architecture.hpp"\n#include "ops/ops.hpp"\n'
                      f"namespace tacet::models {{\n{graph}}}\n")

    def test_text(self):
        prompt, = blocks("docs/text.md")
        self.compiles(prompt, *WARNINGS)

    def test_stops(self):
        cpp, = blocks("docs/stop-contract.md")
        c, = blocks("docs/stop-contract.md", "c")
        self.compiles("#include <iostream>\n#include <tacet/session.hpp>\n"
                      f"void f(tacet::Session& session, std::span<const tacet::Token> tokens) {{\n{cpp}}}\n", *WARNINGS)
        self.compiles("#include <stdio.h>\n#include <tacet.h>\n"
                      f"void f(tacet_session* session, tacet_text_callback print) {{\n{c}}}\n", language="C")


class Installed(Case):
    def setUp(self):
        super().setUp()
        if not (build() / "libtacet_cpp.a").exists() or not (build() / "libtacet.so").exists():
            self.skipTest("the libraries are not built beside the program; build everything")
        run = subprocess.run(["cmake", "--install", build(), "--prefix", self.folder / "prefix"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)

    def flags(self, package):
        found = subprocess.run(["pkg-config", "--cflags", "--libs", package], capture_output=True, text=True,
                               env=os.environ | {"PKG_CONFIG_PATH": str(self.folder / "prefix/lib/pkgconfig")})
        self.assertEqual(found.returncode, 0, found.stderr)
        return found.stdout.split()

    def run_program(self, source, language, package):
        out = self.folder / "program"
        made = subprocess.run([compiler(language), source, "-o", out, *self.flags(package)], capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stderr[:3000])
        shutil.copy(ROOT / "models/tiny-chat-Q8_0.gguf", self.folder / "model.gguf")
        run = subprocess.run([out], cwd=self.folder, capture_output=True, text=True, timeout=program.PATIENCE,
                             env=os.environ | {"LD_LIBRARY_PATH": str(self.folder / "prefix/lib")})
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.stdout

    def test_cpp_program_of_the_readme(self):
        source = self.folder / "program.cpp"
        source.write_text(blocks("README.md")[0])
        self.assertGreater(len(self.run_program(source, "CXX", "tacet-cpp")), 20)

    def test_cpp_program_of_the_page_on_sessions(self):
        source = self.folder / "program.cpp"
        source.write_text(blocks("docs/sessions.md")[0])
        self.assertEqual(self.run_program(source, "CXX", "tacet-cpp"), "")
        self.assertTrue((self.folder / "fox.session").exists())

    def test_c_program(self):
        source = self.folder / "program.c"
        source.write_text('#include <stdio.h>\n#include <tacet.h>\nint main(void) { puts(tacet_version()); return 0; }\n')
        self.assertRegex(self.run_program(source, "C", "tacet"), r"\A\d+\.\d+\.\d+\n\Z")

    def test_each_header_alone(self):
        for header in sorted((self.folder / "prefix/include/tacet").glob("*.hpp")):
            source = self.folder / "one.cpp"
            source.write_text(f"#include <tacet/{header.name}>\n")
            run = subprocess.run([compiler(), "-fsyntax-only", source, *self.flags("tacet-cpp")], capture_output=True, text=True)
            self.assertEqual(run.returncode, 0, run.stderr[:1000])
