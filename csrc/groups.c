/* groups.c -- see groups.h. */
#include "groups.h"

uint8_t glk_group_of(uint8_t byte) {
    if (byte == ' ') {
        return GLK_GROUP_SPACE;
    }
    if (byte >= '0' && byte <= '9') {
        return GLK_GROUP_DIGIT;
    }
    if (byte >= 'a' && byte <= 'z') {
        return GLK_GROUP_LOWER;
    }
    if (byte >= 'A' && byte <= 'Z') {
        return GLK_GROUP_UPPER;
    }
    if (byte == '-' || byte == '_') {
        return GLK_GROUP_DASH;
    }
    bool other = byte < 0x20 || byte >= 0x7F || byte == '"' || byte == '\\';
    return other ? GLK_GROUP_OTHER : GLK_GROUP_PUNCTUATION;
}

/* After so many more bytes the code point is complete; the rest are named by the bytes read. */
enum { ONE = 1, TWO, THREE, C2, E0, E1, E2, E3, ED, EF, F0, F4, E1_9A, E2_80, E2_81, E3_80, EF_BB };

static uint32_t after_lead(uint8_t byte) {
    switch (byte) {
    case 0xC2: return C2;
    case 0xE0: return E0;
    case 0xE1: return E1;
    case 0xE2: return E2;
    case 0xE3: return E3;
    case 0xED: return ED;
    case 0xEF: return EF;
    case 0xF0: return F0;
    case 0xF4: return F4;
    default: break;
    }
    if (byte < 0xC2 || byte > 0xF4) {
        return GLK_TEXT_DEAD;
    }
    return byte < 0xE0 ? ONE : byte < 0xF0 ? TWO : THREE;
}

static uint32_t unless(bool excluded, uint32_t next) { return excluded ? GLK_TEXT_DEAD : next; }

uint32_t glk_text_after(uint32_t state, uint8_t byte) {
    if (state == GLK_TEXT_BOUNDARY) {
        return after_lead(byte);
    }
    if (byte < 0x80 || byte > 0xBF) {
        return GLK_TEXT_DEAD;
    }
    switch (state) {
    case ONE: return GLK_TEXT_BOUNDARY;
    case TWO: return ONE;
    case THREE: return TWO;
    case C2: return unless(byte == 0xA0, GLK_TEXT_BOUNDARY); /* U+00A0 */
    case E0: return unless(byte < 0xA0, ONE);
    case E1: return byte == 0x9A ? E1_9A : ONE;
    case E2: return byte == 0x80 ? E2_80 : byte == 0x81 ? E2_81 : ONE;
    case E3: return byte == 0x80 ? E3_80 : ONE;
    case ED: return unless(byte > 0x9F, ONE); /* surrogates */
    case EF: return byte == 0xBB ? EF_BB : ONE;
    case F0: return unless(byte < 0x90, TWO);
    case F4: return unless(byte > 0x8F, TWO);
    case E1_9A: return unless(byte == 0x80, GLK_TEXT_BOUNDARY); /* U+1680 */
    case E2_80: /* U+2000 to U+200A, U+2028, U+2029, U+202F */
        return unless(byte <= 0x8A || byte == 0xA8 || byte == 0xA9 || byte == 0xAF,
                      GLK_TEXT_BOUNDARY);
    case E2_81: return unless(byte == 0x9F, GLK_TEXT_BOUNDARY); /* U+205F */
    case E3_80: return unless(byte == 0x80, GLK_TEXT_BOUNDARY); /* U+3000 */
    case EF_BB: return unless(byte == 0xBF, GLK_TEXT_BOUNDARY); /* U+FEFF */
    default: return GLK_TEXT_DEAD;
    }
}
