// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
public import Lastro

/// Which calls share a circuit, a limit or a pace.
public struct ResilienceKey: Sendable, Hashable, CustomStringConvertible {
  /// The server.
  public let origin: Origin
  /// What tells calls to one server apart; empty where nothing does.
  public let part: String

  /// Makes a key.
  ///
  /// - Parameters:
  ///   - origin: the server.
  ///   - part: an operation, a tenant. Of few distinct values, and no secret: it stands in errors. Default: empty.
  public init(_ origin: Origin, part: String = "") {
    self.origin = origin
    self.part = part
  }

  /// The origin, and the part where there is one.
  public var description: String { part.isEmpty ? "\(origin)" : "\(origin) (\(part))" }
}

/// How a request gets its ``ResilienceKey``.
public struct ResilienceKeyRule: Sendable {
  let part: @Sendable (TransferRequest) -> String

  /// All requests to an origin share one.
  public static let origin = Self { _ in "" }

  /// Those with the same `Authorization` to an origin share one: quotas are often kept for each credential. What stands
  /// in the key is a hash with a seed of this process.
  public static let originAndCredentials = Self { request in
    // Asked for one by one: a look-up by name would build an index.
    guard let credentials = request.head.headerFields.first(where: { $0.name == .authorization })?.value else {
      return ""
    }
    var hasher = Hasher()
    hasher.combine(credentials)
    return "credentials \(UInt(bitPattern: hasher.finalize()))"
  }

  /// Makes a rule.
  ///
  /// - Parameter part: what tells requests to one origin apart, such as the first part of the path. Of few distinct
  ///   values: beyond 10,000 keys all others share one.
  public init(part: @escaping @Sendable (TransferRequest) -> String) { self.part = part }

  /// The key of a request; `nil` where the request has no `http` or `https` URL.
  func key(of request: TransferRequest) -> ResilienceKey? { key(of: request, to: Origin(request.head)) }

  /// - Parameter origin: the request's, which is read once for all parts.
  func key(of request: TransferRequest, to origin: Origin?) -> ResilienceKey? {
    origin.map { ResilienceKey($0, part: part(request)) }
  }
}
