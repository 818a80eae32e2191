// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import Lastro

/// A meek server, and the front through which it is reached.
///
/// Requests go to the front: its name is resolved, sent in TLS (SNI), and verified in the certificate. The `Host` field
/// has the server behind it, and the path is the server's. The `url` of meek-client is the server's
/// URL here, and its `front` is the host of the front.
package struct MeekServer: Sendable, Hashable, CustomStringConvertible {
  /// The URL that is contacted: scheme, host and port.
  package let front: URL
  /// The URL of the meek server: host, port, path and query.
  package let serverURL: URL
  /// The URL of the requests: the front's scheme and authority, and the server's path.
  let requestURL: String
  /// The server's authority, if it differs from that of the front.
  let hostField: String?

  /// Creates a server with a front.
  ///
  /// - Parameters:
  ///   - front: the URL to contact, `http` or `https`, without path, query and user. Without a front, pass the server's
  ///     own URL.
  ///   - serverURL: the URL of the meek server, with the same scheme as the front.
  /// - Throws: `ConfigurationError` if a URL cannot be used.
  package init(to front: URL, serverURL: URL) throws(ConfigurationError) {
    self.front = front
    self.serverURL = serverURL
    let contact = try Self.target(front, "the front")
    let server = try Self.target(serverURL, "the meek server")
    guard contact.scheme == server.scheme else {
      throw ConfigurationError(
        "the front's scheme is \(contact.scheme), and the meek server's \(server.scheme)",
        hint: "give both the same scheme")
    }
    guard contact == server || (contact.path == "/" && contact.query == nil) else {
      throw ConfigurationError("the front has a path", hint: "write the path in the meek server's URL")
    }
    requestURL = "\(contact.scheme)://\(contact.authority)\(server.pathAndQuery)"
    hostField = contact.authority == server.authority ? nil : server.authority
  }

  /// Creates a server that is contacted directly.
  ///
  /// - Throws: `ConfigurationError` if the URL cannot be used.
  package init(_ serverURL: URL) throws(ConfigurationError) { try self.init(to: serverURL, serverURL: serverURL) }

  private static func target(_ url: URL, _ name: String) throws(ConfigurationError) -> RequestTarget {
    do throws(TransportError) {
      return try RequestTarget(url.absoluteString)
    } catch {
      throw ConfigurationError("the URL of \(name) is not valid: \(error.message)", hint: error.hint)
    }
  }

  /// The front and the server's host, without paths, which may be secret.
  package var description: String {
    let contact = requestURL.split(separator: "/", maxSplits: 3).prefix(2).joined(separator: "//")
    return hostField.map { "\(contact) for \($0)" } ?? contact
  }
}
