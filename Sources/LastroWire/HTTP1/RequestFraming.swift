// SPDX-License-Identifier: Apache-2.0

/// How the body of a request is delimited (RFC 9112 §6).
package enum RequestFraming: Equatable, Sendable {
  /// No body, and no field that says so.
  case none
  /// `Content-Length`: so many bytes, also 0.
  case length(Int64)
  /// `Transfer-Encoding: chunked`: the length is not known before the end.
  case chunked

  /// The framing of a body whose length is known: without one, a method that gives content a meaning tells so
  /// (RFC 9110 §8.6).
  package static func known(_ length: Int64, method: String) -> Self {
    if length > 0 { return .length(length) }
    switch method {
    case "POST", "PUT", "PATCH": return .length(0)
    default: return .none
    }
  }

  /// The field that announces the body.
  package var field: (name: String, value: String)? {
    switch self {
    case .none: nil
    case .length(let length): ("Content-Length", String(length))
    case .chunked: ("Transfer-Encoding", "chunked")
    }
  }

  /// Whether bytes of a body are to come.
  package var hasBody: Bool {
    switch self {
    case .none, .length(0): false
    case .length, .chunked: true
    }
  }

  /// Whether it is worth a wait to learn first if the server wants the body (RFC 9110 §10.1.1): above 1 MiB, or
  /// where the length is not known.
  package var deservesExpect: Bool {
    switch self {
    case .none: false
    case .length(let length): length > 1 << 20
    case .chunked: true
    }
  }
}
