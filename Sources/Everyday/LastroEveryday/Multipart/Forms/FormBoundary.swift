// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroWire

/// The source of a form's boundary.
///
/// A form that is made once has one boundary. A form that a request maker makes afresh for each attempt must have the
/// same boundary in every attempt: a server that compares the bodies of one `Idempotency-Key` rejects a body that
/// differs, and so does a digest. In that case the boundary is derived from the call's id, with a key known only to
/// this process.
enum FormBoundary: Sendable {
  case given(String)
  case drawn(MultipartBoundary)
  case ofCall(UInt64)

  private static let key: [UInt64] = (0..<4).map { _ in RandomSource.system.next() }

  init(_ given: String?, _ randomSource: RandomSource) {
    if let given {
      self = .given(given)
    } else if let callID = CallContext.callID {
      self = .ofCall(callID)
    } else {
      self = .drawn(MultipartBoundary(drawnFrom: randomSource.next))
    }
  }

  /// Returns the boundary of a form with these heads and lengths. They distinguish the forms of one call, because one
  /// form may be a part of another.
  func boundary(of parts: [(head: FormPartHead, length: Int64?)]) throws(TransportError) -> MultipartBoundary {
    switch self {
    case .drawn(let boundary): return boundary
    case .given(let text):
      guard let boundary = MultipartBoundary(text) else {
        throw .refused(
          .invalidBody, "\"\(text.prefix(80).escapedForDisplay)\" cannot be a boundary",
          hint: "give 1 to 70 letters, digits or '()+_,-./:=? and no space at the end; or none, to have one drawn")
      }
      return boundary
    case .ofCall(let callID): return try Self.derived(from: callID, parts)
    }
  }

  private static func derived(
    from callID: UInt64, _ parts: [(head: FormPartHead, length: Int64?)]
  ) throws(TransportError) -> MultipartBoundary {
    var message = "\(callID)"
    for part in parts { message += "\n\(part.length ?? -1) \(part.head)" }
    let key = key.withUnsafeBytes { Array($0) }
    let digest: [UInt8]
    do throws(ConfigurationError) {
      digest = try MessageDigest.hmacSHA256(of: Array(message.utf8), key: key).bytes
    } catch {
      throw .refused(.invalidBody, "cannot derive the boundary of a form: \(error.message)", hint: error.hint)
    }
    var rest = digest[...]
    return MultipartBoundary(drawnFrom: {
      defer { rest = rest.dropFirst(8) }
      return rest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    })
  }
}
