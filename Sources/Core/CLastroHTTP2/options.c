// SPDX-License-Identifier: Apache-2.0
#include "CLastroHTTP2.h"

// Available since nghttp2 1.61, and in Debian's 1.52. A library without it has no limit.
extern void nghttp2_option_set_max_continuations(nghttp2_option *option, size_t count) __attribute__((weak));
// Available in newer versions. It counts frames of closed streams, which RFC 9113 requires us to ignore. Our own flood
// guard limits their bytes.
extern void nghttp2_option_set_glitch_rate_limit(nghttp2_option *option, uint64_t burst, uint64_t rate)
  __attribute__((weak));
// Available since nghttp2 1.50. A library without it accepts blanks at the ends of values anyway.
extern void nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(nghttp2_option *option, int value)
  __attribute__((weak));

enum { MAXIMUM_SETTINGS = 32, MAXIMUM_ACKNOWLEDGEMENTS = 1000 };

nghttp2_option *clastro_http2_option(uint32_t streams_before_settings, size_t header_table_bytes, size_t head_bytes) {
  nghttp2_option *option;
  if (nghttp2_option_new(&option)) return NULL;
  nghttp2_option_set_no_auto_window_update(option, 1);
  nghttp2_option_set_peer_max_concurrent_streams(option, streams_before_settings);
  nghttp2_option_set_max_deflate_dynamic_table_size(option, header_table_bytes);
  nghttp2_option_set_max_settings(option, MAXIMUM_SETTINGS);
  nghttp2_option_set_max_outbound_ack(option, MAXIMUM_ACKNOWLEDGEMENTS);
  nghttp2_option_set_no_closed_streams(option, 1);
  // The default is 64 KiB.
  nghttp2_option_set_max_send_header_block_length(option, head_bytes);
  // We remove those blanks ourselves, as over HTTP/1.1.
  if (nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation) {
    nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(option, 1);
  }
  // Our flood guard limits CONTINUATION frames by size before nghttp2 sees them. nghttp2 would count a frame again each
  // time the nine bytes of its header arrive in parts.
  if (nghttp2_option_set_max_continuations) nghttp2_option_set_max_continuations(option, UINT32_MAX);
  if (nghttp2_option_set_glitch_rate_limit) nghttp2_option_set_glitch_rate_limit(option, UINT32_MAX, UINT32_MAX);
  return option;
}
