// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes

/// The header fields set by the caller that affect how a request is sent. They are found in one pass, because a look-up
/// by name makes `HTTPFields` build an index.
struct GivenFields: OptionSet {
  let rawValue: UInt16

  static let host = Self(rawValue: 1)
  static let userAgent = Self(rawValue: 1 << 1)
  static let accept = Self(rawValue: 1 << 2)
  /// `Accept-Encoding` or `Range`: the body must not be decoded.
  static let coding = Self(rawValue: 1 << 3)
  static let length = Self(rawValue: 1 << 4)
  static let expect = Self(rawValue: 1 << 5)
  /// `Connection: close`.
  static let close = Self(rawValue: 1 << 6)
  static let proxyAuthorization = Self(rawValue: 1 << 7)
  static let cookie = Self(rawValue: 1 << 8)
  static let transferEncoding = Self(rawValue: 1 << 9)

  /// The fields that ``CommonFields`` writes.
  static let common: Self = [.host, .userAgent, .accept, .coding]
  /// The fields that delimit the body.
  static let framing: Self = [.length, .transferEncoding]

  init(rawValue: UInt16) { self.rawValue = rawValue }

  init(_ fields: HTTPFields) {
    self = []
    for field in fields { formUnion(Self.meaning(of: field)) }
  }

  private static func meaning(of field: HTTPField) -> Self {
    let name = field.name.canonicalName
    switch name.utf8.count {
    case 4 where name == "host": return .host
    case 5 where name == "range": return .coding
    case 6 where name == "accept": return .accept
    case 6 where name == "expect": return .expect
    case 6 where name == "cookie": return .cookie
    case 10 where name == "user-agent": return .userAgent
    case 10 where name == "connection": return field.value.lowercased().contains("close") ? .close : []
    case 14 where name == "content-length": return .length
    case 15 where name == "accept-encoding": return .coding
    case 17 where name == "transfer-encoding": return .transferEncoding
    case 19 where name == "proxy-authorization": return .proxyAuthorization
    default: return []
    }
  }
}

extension HTTPRequest {
  /// Returns the host to send: the `Host` field of the request if it has one, and otherwise the authority.
  func host(_ given: GivenFields) -> String {
    let own = given.contains(.host) ? headerFields.first { $0.name.canonicalName == "host" }?.value : nil
    return own ?? authority ?? ""
  }
}
