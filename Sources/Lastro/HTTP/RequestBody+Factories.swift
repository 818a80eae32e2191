// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Darwin
#endif

extension RequestBody {
  /// JSON (RFC 8259), sent as `application/json`.
  ///
  /// - Throws: stage `request`, code `invalid_body`, when the value does not encode.
  public static func json(_ value: some Encodable, encoder: JSONEncoder = JSONEncoder()) throws(TransportError) -> Self {
    do {
      return Self(source: .bytes(try encoder.encode(value)), contentType: "application/json")
    } catch {
      throw .refused(.invalidBody, "the body does not encode as JSON: \(error)")
    }
  }

  /// Names and values as an HTML form sends them, `application/x-www-form-urlencoded` (WHATWG URL §5.2): a space is `+`.
  public static func form(_ items: [(String, String)]) -> Self {
    let text = items.map { "\(formEncoded($0.0))=\(formEncoded($0.1))" }.joined(separator: "&")
    return Self(source: .bytes(Data(text.utf8)), contentType: "application/x-www-form-urlencoded")
  }

  /// Bytes as they are.
  ///
  /// - Parameter contentType: default `application/octet-stream`; `nil` sends none.
  public static func raw(_ bytes: Data, contentType: String? = "application/octet-stream") -> Self {
    Self(source: .bytes(bytes), contentType: contentType)
  }

  /// Text as UTF-8.
  ///
  /// - Parameter contentType: default `text/plain; charset=utf-8`.
  public static func text(_ text: String, contentType: String? = "text/plain; charset=utf-8") -> Self {
    Self(source: .bytes(Data(text.utf8)), contentType: contentType)
  }

  /// A file, read while it is sent, so that its size does not matter. It can be replayed.
  ///
  /// - Throws: stage `request`, code `invalid_body`, when it is missing or no regular file.
  public static func file(path: String, contentType: String? = "application/octet-stream") throws(TransportError) -> Self {
    var status = stat()
    guard stat(path, &status) == 0 else {
      throw .refused(
        .invalidBody, "the body file \(path) cannot be found: \(String(cString: strerror(errno)))",
        hint: "check the path")
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw .refused(
        .invalidBody, "\(path) is no regular file", hint: "send pipes and devices as a stream")
    }
    return Self(source: .file(path: path, length: Int64(status.st_size)), contentType: contentType)
  }

  /// Chunks from an asynchronous sequence, pulled while they are sent.
  ///
  /// - Parameters:
  ///   - length: number of bytes, if known; else HTTP/1.1 sends chunked. A sequence that ends earlier fails the request.
  ///   - isReplayable: whether iterating it again gives the same bytes. Only then the request can be sent again, for a
  ///     redirect or a retry. Default false.
  public static func stream<Chunks: AsyncSequence & Sendable>(
    _ chunks: Chunks, length: Int64? = nil, isReplayable: Bool = false,
    contentType: String? = "application/octet-stream"
  ) -> Self where Chunks.Element == Data {
    Self(
      source: .stream(length: length, isReplayable: isReplayable) {
        var iterator = chunks.makeAsyncIterator()
        return { try await iterator.next(isolation: #isolation) }
      }, contentType: contentType)
  }

  private static func formEncoded(_ text: String) -> String {
    PercentEncoding.encode(text, keepsTriplets: false) { byte in
      ByteClass.isAlphanumeric(byte) || "*-._ ".utf8.contains(byte)
    }.replacing(" ", with: "+")
  }
}
