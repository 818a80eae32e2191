// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroWire

extension Transfer {
  /// `Content-Length` of an answer that has a body.
  var bodyLength: Int64? { hasBody ? machine.framing.contentLength : nil }

  /// Whether a body may follow the head (RFC 9110 §6.4.1).
  private var hasBody: Bool {
    guard let response else { return false }
    return job.request.head.method != .head && ![204, 304].contains(response.status.code)
  }

  /// Whether a body of at least one byte follows the head, or may.
  var announcesBody: Bool { hasBody && machine.framing.contentLength != 0 }

  /// Why the body cannot be taken, by what its head says. The length of a coded body says nothing about what is taken of it.
  var announcedExcess: TransportError? {
    guard let length = bodyLength, !machine.framing.hasContentEncoding else { return nil }
    switch sink {
    case .collect(let limit, cuts: false) where length > Int64(limit): return .bodyTooLarge(limit, announced: length)
    case .stream(let limit?) where length > Int64(limit): return .bodyTooLarge(limit, announced: length)
    default: return nil
    }
  }
}

extension BodyCut {
  /// Of an answer that is taken at its head.
  static let unread = BodyCut(stage: .limit, code: .bodyTooLarge, message: "it was not read")
}
