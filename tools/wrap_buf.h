#include "base/base.h"
#include "cli.h"
static inline void cli_put_wrapped(surg__buf *b, const char *text, size_t start, size_t indent) {
  cli_text t = {0};
  cli_text_wrap(&t, text, start, indent);
  surg__buf_puts(b, cli_text_of(&t));
  cli_text_free(&t);
}
