// SPDX-License-Identifier: Apache-2.0

public import Lastro

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A server of meek, and the front by which it is reached.
///
/// Requests go to the front: its name is looked up, sent in TLS (SNI), and looked for in the certificate. In the `Host`
/// field stands the server behind it, and the path is the server's. What meek-client calls `url` is ``serverURL`` here,
/// and what it calls `front` is the host of ``front``.
public struct MeekServer: Sendable, Hashable, CustomStringConvertible {
  /// The URL that is really contacted: scheme, host and port.
  public let front: URL
  /// The meek server: host, port, path and query.
  public let serverURL: URL
  /// What is requested: the front's scheme and authority, the server's path.
  let requestURL: String
  /// The server's authority, where it is another than the front's.
  let hostField: String?

  /// Makes one.
  ///
  /// - Parameters:
  ///   - front: the URL to contact, `http` or `https`, without path, query and user. Where there is no front, the
  ///     server's own.
  ///   - serverURL: the meek server, `http` or `https`. Its scheme is the front's.
  /// - Throws: `ConfigurationError` when a URL cannot be used.
  public init(to front: URL, serverURL: URL) throws(ConfigurationError) {
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

  /// Makes one that is contacted itself.
  ///
  /// - Throws: `ConfigurationError` when the URL cannot be used.
  public init(_ serverURL: URL) throws(ConfigurationError) { try self.init(to: serverURL, serverURL: serverURL) }

  private static func target(_ url: URL, _ name: String) throws(ConfigurationError) -> RequestTarget {
    do throws(TransportError) {
      return try RequestTarget(url.absoluteString)
    } catch {
      throw ConfigurationError("the URL of \(name) is not valid: \(error.message)", hint: error.hint)
    }
  }

  /// Front and server's host, without paths, which may be secret.
  public var description: String {
    let contact = requestURL.split(separator: "/", maxSplits: 3).prefix(2).joined(separator: "//")
    return hostField.map { "\(contact) for \($0)" } ?? contact
  }
}
