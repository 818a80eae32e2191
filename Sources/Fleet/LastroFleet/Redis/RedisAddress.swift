// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport

/// A server at `redis://HOST:PORT`, `rediss://HOST:PORT` for TLS, or `unix:/PATH`; or a sentinel, with the name of the
/// primary: `redis+sentinel://HOST:PORT/NAME` or `rediss+sentinel://HOST:PORT/NAME`.
struct RedisAddress: Sendable, Hashable, CustomStringConvertible {
  private enum Place: Hashable {
    case host(String, port: Int, isSecure: Bool)
    case socket(String)
  }

  private let place: Place
  /// The name of the primary that the sentinel at this address is asked for; `nil` for a server.
  let primary: String?

  static let standardPort = 6379
  static let sentinelPort = 26_379

  /// Parses an address, which may name several hosts, separated by commas.
  static func parse(_ text: String) throws(ConfigurationError) -> [RedisAddress] {
    let hint = "write redis://HOST:PORT, rediss://HOST:PORT, redis+sentinel://HOST:PORT,HOST:PORT/NAME or unix:/PATH"
    if text.hasPrefix("unix:") {
      let path = String(text.dropFirst(5))
      guard path.hasPrefix("/"), !path.utf8.contains(0) else {
        throw ConfigurationError("the store's socket \(path.escapedForDisplay) is not an absolute path", hint: hint)
      }
      return [RedisAddress(place: .socket(path), primary: nil)]
    }
    let schemes = ["redis://", "rediss://", "redis+sentinel://", "rediss+sentinel://"]
    guard let scheme = schemes.first(where: text.hasPrefix) else {
      throw ConfigurationError("the store's address has an unknown scheme", hint: hint)
    }
    var rest = text.dropFirst(scheme.count)
    guard !rest.contains("@") else {
      throw ConfigurationError(
        "the store's address has user information in it", hint: "set the parameters user and password instead")
    }
    let isOfSentinel = scheme.contains("sentinel")
    let slash = rest.firstIndex(of: "/") ?? rest.endIndex
    let name = rest[slash...].dropFirst()
    if isOfSentinel || name.isEmpty { rest = rest[..<slash] }
    guard !isOfSentinel || isName(name) else {
      throw ConfigurationError(
        "the sentinel's address has no valid name of a primary", hint: "write redis+sentinel://HOST:PORT/NAME")
    }
    do throws(TransportError) {
      return try rest.split(separator: ",", omittingEmptySubsequences: false).map { host throws(TransportError) in
        let authority = try Authority(host)
        let port = authority.port ?? (isOfSentinel ? sentinelPort : standardPort)
        return RedisAddress(
          place: .host(authority.host.unbracketedHost, port: port, isSecure: scheme.hasPrefix("rediss")),
          primary: isOfSentinel ? String(name) : nil)
      }
    } catch {
      throw ConfigurationError("the store's address is invalid: \(error.message)", hint: hint)
    }
  }

  /// Returns whether a sentinel could have a primary of that name.
  private static func isName(_ name: Substring) -> Bool {
    (1...100).contains(name.utf8.count)
      && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) }
  }

  /// Returns the address of a server that the sentinel at this address has named; `nil` if that is invalid.
  func server(host: String, port: Int64) -> RedisAddress? {
    guard case .host(_, _, let isSecure) = place, !host.contains(",") else { return nil }
    return try? RedisAddress.parse("redis\(isSecure ? "s" : "")://\(host.bracketedHost):\(port)").first
  }

  /// Returns the request to dial.
  func dial(_ options: ConnectionOptions?, within limit: Duration) -> DialRequest {
    switch place {
    case .host(let host, let port, let isSecure):
      return DialRequest(
        host: host, port: port, tls: isSecure ? .init() : nil, connection: options, connectTimeout: limit)
    case .socket(let path):
      var options = options ?? ConnectionOptions()
      options.unixSocketPath = path
      options.proxy = .none
      return DialRequest(host: "localhost", port: Self.standardPort, connection: options, connectTimeout: limit)
    }
  }

  var description: String {
    switch place {
    case .host(let host, let port, let isSecure):
      "redis\(isSecure ? "s" : "")\(primary == nil ? "" : "+sentinel")://\(host.bracketedHost):\(port)"
        + (primary.map { "/\($0)" } ?? "")
    case .socket(let path): "unix:\(path.escapedForDisplay)"
    }
  }
}
