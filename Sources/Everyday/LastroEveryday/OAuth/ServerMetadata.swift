// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro

/// The identifier of an authorization server or of a resource: a URL below which its metadata is found.
struct MetadataPlace {
  /// The identifier, which the document must repeat unchanged.
  let identifier: String
  /// Whether the server is on this machine. Other servers must use `https` everywhere.
  let isLoopback: Bool
  private var target: RequestTarget

  /// Checks an identifier.
  ///
  /// - Parameter allowsQuery: whether it may have a query, as that of a resource may.
  init(_ identifier: String, allowsQuery: Bool) throws(OAuth2LoginError) {
    guard let target = try? RequestTarget(identifier), let origin = try? Origin(identifier), origin.keepsSecrets,
      !identifier.contains("#"), allowsQuery || target.query == nil
    else {
      throw .misconfigured(
        ConfigurationError(
          "the issuer or the resource is not an https URL without user information, query and fragment",
          hint: "write https://HOST or https://HOST/PATH, as the service documents it"))
    }
    (self.identifier, self.target, isLoopback) = (identifier, target, origin.isLoopback)
  }

  /// Returns the URL of a document whose name stands between host and path (RFC 8414 §3.1, RFC 9728 §3.1).
  func inserting(_ name: String) -> String {
    base + "/.well-known/\(name)" + (target.path == "/" ? "" : target.path) + (target.query.map { "?" + $0 } ?? "")
  }

  /// The URLs of an authorization server's documents, in the order in which they are asked for.
  var serverDocuments: [String] {
    var place = self
    if target.path.hasSuffix("/") { place = MetadataPlace(self, path: String(target.path.dropLast())) }
    return [
      place.inserting("oauth-authorization-server"),
      place.base + place.target.path + "/.well-known/openid-configuration",
    ]
  }

  private var base: String { "\(target.scheme)://\(target.authority)" }

  private init(_ place: MetadataPlace, path: String) {
    self = place
    target.path = path
  }
}

/// A document about an authorization server (RFC 8414 §2, OpenID Connect Discovery §3) or a resource (RFC 9728 §2).
struct ServerMetadata {
  private let members: [String: JSONTree]

  /// Reads a document; `nil` if it is not a JSON object.
  init?(_ body: Data) {
    guard let members = try? JSONDecoder().decode([String: JSONTree].self, from: body) else { return nil }
    self.members = members
  }

  /// Checks that the document is about the expected server.
  ///
  /// - Parameter name: the name of the member that identifies it.
  func check(_ name: String, is expected: String) throws(OAuth2LoginError) {
    let found = members[name]?.string
    // Two spellings that `String` takes for equal may be two identifiers.
    guard let found, found.utf8.elementsEqual(expected.utf8) else {
      throw .wrongIssuer(expected: expected, found: found)
    }
  }

  func text(_ name: String) -> String? { members[name]?.string }

  func flag(_ name: String) -> Bool { members[name] == .boolean(true) }

  func integer(_ name: String) -> Int? { members[name]?.integer ?? text(name).flatMap { Int($0) } }

  /// Returns the texts of a list; `nil` if there is no list.
  func list(_ name: String) -> [String]? { members[name]?.elements.map { $0.compactMap(\.string) } }

  /// Returns the URL of an endpoint; `nil` if there is none.
  ///
  /// - Parameter allowsLoopback: whether it may be `http` on this machine.
  func endpoint(_ name: String, allowsLoopback: Bool) throws(OAuth2LoginError) -> String? {
    guard let url = text(name) else { return nil }
    guard url.utf8.count <= 2048, url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !url.contains("#"),
      let origin = try? Origin(url), origin.scheme == "https" || allowsLoopback && origin.isLoopback
    else { throw .invalidAnswer("its \(name) is not an https URL without a fragment") }
    return url
  }
}
