// SPDX-License-Identifier: Apache-2.0

/// The framing of a request's body (RFC 9112 §6).
package enum RequestFraming: Equatable, Sendable {
  /// There is no body, and no field announces one.
  case none
  /// `Content-Length`: a body of this many bytes, which may be 0.
  case length(Int64)
  /// `Transfer-Encoding: chunked`: the length is not known in advance.
  case chunked

  /// Returns the framing of a body of known length. For an empty body, `Content-Length: 0` is sent only for methods
  /// that define a meaning for content (RFC 9110 §8.6).
  package static func known(_ length: Int64, method: String) -> Self {
    if length > 0 { return .length(length) }
    switch method {
    case "POST", "PUT", "PATCH": return .length(0)
    default: return .none
    }
  }

  /// The header field that announces the body.
  package var field: (name: String, value: String)? {
    switch self {
    case .none: nil
    case .length(let length): ("Content-Length", String(length))
    case .chunked: ("Transfer-Encoding", "chunked")
    }
  }

  /// Whether the body has any bytes.
  package var hasBody: Bool {
    switch self {
    case .none, .length(0): false
    case .length, .chunked: true
    }
  }

  /// Whether the body is large enough to ask the server first if it wants it (RFC 9110 §10.1.1): above 1 MiB, or of
  /// unknown length.
  package var deservesExpect: Bool {
    switch self {
    case .none: false
    case .length(let length): length > 1 << 20
    case .chunked: true
    }
  }
}
