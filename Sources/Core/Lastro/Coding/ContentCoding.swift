// SPDX-License-Identifier: Apache-2.0

package import LastroWire

/// A content coding (RFC 9110 §8.4.1), such as gzip: it decodes bodies of responses, and may compress those of requests.
///
/// `LastroZstd` adds `ContentCoding.zstd`, and `LastroBrotli` adds `ContentCoding.brotli`.
///
/// ```swift
/// configuration.codings = [.zstd, .brotli, .gzip]
/// ```
public struct ContentCoding: Sendable {
  /// The name in `Accept-Encoding` and `Content-Encoding`, in lower case, such as `br`.
  public let name: String
  /// Another name that servers use. Default `nil`.
  package let alias: String?
  /// Makes a decoder whose memory is counted.
  package let makeDecoder: @Sendable (DecodingMemory) -> any ContentDecoding
  /// Makes an encoder; `nil` if the coding compresses no requests.
  package let makeEncoder: (@Sendable () -> (any ContentEncoding)?)?

  /// Makes a coding. The encoder is `nil` if memory runs out.
  package init(
    _ name: String, alias: String? = nil, decoder: @escaping @Sendable (DecodingMemory) -> any ContentDecoding,
    encoder: (@Sendable () -> (any ContentEncoding)?)? = nil
  ) {
    (self.name, self.alias) = (name, alias)
    (makeDecoder, makeEncoder) = (decoder, encoder)
  }

  /// The gzip format (RFC 1952). Servers also call it `x-gzip`.
  public static let gzip = ContentCoding(
    "gzip", alias: "x-gzip", decoder: { _ in InflateMachine(.gzip) }, encoder: { GzipEncoder() })
  /// The zlib format (RFC 1950), or bare deflate data (RFC 1951), which some servers send instead. It compresses no
  /// requests.
  public static let deflate = ContentCoding("deflate", decoder: { _ in InflateMachine(.deflate) })

  /// Returns the coding of a recorded engine. A replay reads bodies in gzip alone, because the data of others is not
  /// recorded.
  package static func recorded(_ name: String) -> ContentCoding {
    switch name {
    case "gzip": gzip
    case "deflate": deflate
    default: ContentCoding(name, decoder: { _ in InflateMachine(.gzip) })
    }
  }
}
