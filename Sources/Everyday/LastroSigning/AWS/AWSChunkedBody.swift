// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
import Lastro

/// A body in signed chunks (`aws-chunked` with `STREAMING-AWS4-HMAC-SHA256-PAYLOAD`): each chunk has the signature of
/// its bytes and of the signature before it, so that a body is signed while it is sent.
struct AWSChunkedBody {
  /// The size of all chunks but the last.
  static let chunkBytes = 64 * 1024

  let signature: AWSSignature
  let key: [UInt8]
  /// The signature of the request's head.
  let seed: String

  /// Returns the length of the framed form of a body.
  static func framedLength(of length: Int64) -> Int64 {
    let size = Int64(chunkBytes)
    let (whole, rest) = (length / size, length % size)
    return whole * framed(size) + (rest > 0 ? framed(rest) : 0) + framed(0)
  }

  /// Returns the length of a chunk with its head: `HEX;chunk-signature=SIGNATURE CRLF bytes CRLF`.
  private static func framed(_ count: Int64) -> Int64 {
    Int64(String(count, radix: 16).utf8.count + ";chunk-signature=".utf8.count + 64 + 4) + count
  }

  /// Returns a body that frames another one while it is sent.
  func framing(_ body: RequestBody, length: Int64) -> RequestBody {
    let open: @Sendable () -> RequestBody.NextChunk = {
      var chunks = Chunks(framing: self, source: AWSBodyReader(body))
      return { try await chunks.next() }
    }
    return RequestBody(
      source: .stream(length: Self.framedLength(of: length), isReplayable: body.isReplayable, open: open),
      contentType: body.contentType, secrets: body.secrets)
  }

  /// Returns a chunk with its head, and its signature.
  func chunk(_ bytes: [UInt8], after previous: String) throws(ConfigurationError) -> (
    framed: [UInt8], signature: String
  ) {
    let text = [
      "AWS4-HMAC-SHA256-PAYLOAD", signature.time, signature.scope, previous, AWSSignature.emptyHash,
      try MessageDigest(of: bytes).hexadecimal,
    ].joined(separator: "\n")
    let own = try MessageDigest.hmacSHA256(of: Array(text.utf8), key: key).hexadecimal
    let head = "\(String(bytes.count, radix: 16));chunk-signature=\(own)\r\n"
    return (Array(head.utf8) + bytes + [0x0D, 0x0A], own)
  }

  /// The chunks of one sending.
  private struct Chunks {
    let framing: AWSChunkedBody
    var source: AWSBodyReader
    var previous: String?
    var isOver = false

    init(framing: AWSChunkedBody, source: AWSBodyReader) {
      self.framing = framing
      self.source = source
    }

    mutating func next() async throws -> Data? {
      guard !isOver else { return nil }
      let bytes = try await source.next(AWSChunkedBody.chunkBytes)
      isOver = bytes.isEmpty
      let (framed, signature) = try framing.chunk(bytes, after: previous ?? framing.seed)
      previous = signature
      return Data(framed)
    }
  }
}

/// Reads a body in blocks of an exact size.
private struct AWSBodyReader {
  private var next: RequestBody.NextChunk
  private var rest = Data()

  init(_ body: RequestBody) {
    switch body.source {
    case .empty: next = { nil }
    case .bytes(let data):
      var rest: Data? = data
      next = {
        defer { rest = nil }
        return rest
      }
    case .stream(_, _, let open): next = open()
    case .file(let path, let length):
      guard
        case .stream(_, _, let open) = RequestBody.Source.slice(ofFile: path, length: length, noun: "the body's file")
      else {
        next = { nil }
        return
      }
      next = open()
    }
  }

  /// Returns that many bytes, fewer at the end, and none after it.
  mutating func next(_ count: Int) async throws -> [UInt8] {
    while rest.count < count, let chunk = try await next() {
      if rest.isEmpty { rest = chunk } else { rest.append(chunk) }
    }
    let bytes = Array(rest.prefix(count))
    // A slice: removing the bytes would move the rest of a large body with each block.
    rest = rest.dropFirst(bytes.count)
    return bytes
  }
}
