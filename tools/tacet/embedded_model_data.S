// The bytes of the embedded model. TACET_EMBEDDED_MODEL is the path of the file.
    .section .rodata
    .balign 64
    .global tacet_embedded_model_begin
    .global tacet_embedded_model_end
    .type tacet_embedded_model_begin, %object
tacet_embedded_model_begin:
    .incbin TACET_EMBEDDED_MODEL
tacet_embedded_model_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
