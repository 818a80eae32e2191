// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport

/// The address of a server: `redis://HOST:PORT`, `rediss://HOST:PORT` for TLS, or `unix:/PATH`.
struct RedisAddress: Sendable, Hashable, CustomStringConvertible {
  private enum Place: Hashable {
    case host(String, port: Int, isSecure: Bool)
    case socket(String)
  }

  private let place: Place

  static let standardPort = 6379

  init(_ text: String) throws(ConfigurationError) {
    let hint = "write redis://HOST:PORT, rediss://HOST:PORT or unix:/PATH"
    if text.hasPrefix("unix:") {
      let path = String(text.dropFirst(5))
      guard path.hasPrefix("/"), !path.utf8.contains(0) else {
        throw ConfigurationError("the store's socket \(path.escapedForDisplay) is not an absolute path", hint: hint)
      }
      place = .socket(path)
      return
    }
    let isSecure = text.hasPrefix("rediss://")
    guard isSecure || text.hasPrefix("redis://") else {
      throw ConfigurationError("the store's address has an unknown scheme", hint: hint)
    }
    let rest = text.dropFirst(isSecure ? 9 : 8)
    guard !rest.contains("@") else {
      throw ConfigurationError(
        "the store's address has user information in it", hint: "set the parameters user and password instead")
    }
    do throws(TransportError) {
      let authority = try Authority(rest.hasSuffix("/") ? rest.dropLast() : rest)
      let host = authority.host.hasPrefix("[") ? String(authority.host.dropFirst().dropLast()) : authority.host
      place = .host(host, port: authority.port ?? Self.standardPort, isSecure: isSecure)
    } catch {
      throw ConfigurationError("the store's address is invalid: \(error.message)", hint: hint)
    }
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
    case .host(let host, let port, let isSecure): "redis\(isSecure ? "s" : "")://\(host.bracketedHost):\(port)"
    case .socket(let path): "unix:\(path.escapedForDisplay)"
    }
  }
}
