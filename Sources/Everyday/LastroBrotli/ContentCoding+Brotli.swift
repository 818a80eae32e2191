// SPDX-License-Identifier: Apache-2.0

public import Lastro

extension ContentCoding {
  /// Brotli (RFC 7932), by libbrotlidec. Its name in `Accept-Encoding` is `br`.
  ///
  /// The window has 16 MiB at most; the extension for larger ones is refused (`response/bad_content_encoding`). A body
  /// takes about 60 KiB and its window, as the server announces it. It compresses no requests.
  public static let brotli = ContentCoding("br", decoder: { BrotliDecoder($0) })
}
