// SPDX-License-Identifier: Apache-2.0

public import Lastro

extension ContentCoding {
  /// Zstandard (RFC 8878), by libzstd.
  ///
  /// A response may have several frames, and skippable frames, which are ignored. A frame whose window is larger than
  /// 8 MiB (RFC 9659) or that needs a dictionary is refused (`response/bad_content_encoding`). A body takes about 100
  /// KiB and its window, as the frame announces it.
  ///
  /// Requests are compressed at level 3, with a window of 2 MiB at most.
  public static let zstd = ContentCoding("zstd", decoder: { ZstdDecoder($0) }, encoder: { ZstdEncoder() })
}
