// SPDX-License-Identifier: Apache-2.0

internal import LastroWire

/// A part of a message that a signature covers (RFC 9421 §2). A literal is the name of a header field or of a derived
/// component: `"content-type"`, `"@method"`.
public struct SignatureComponent: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
  struct Parameter: Sendable, Hashable {
    var name: String
    var value: StructuredValue
  }

  let name: String
  let parameters: [Parameter]

  init(_ name: String, _ parameters: [Parameter] = []) {
    self.name = name.lowercased()
    self.parameters = parameters
  }

  /// Makes a component of the name of a header field, or of a derived component such as `@method`.
  public init(stringLiteral name: String) { self.init(name) }

  /// The request's method.
  public static let method: Self = "@method"
  /// The request's whole URL.
  public static let targetURI: Self = "@target-uri"
  /// The request's host and port.
  public static let authority: Self = "@authority"
  /// The path of the request's URL, without the query.
  public static let path: Self = "@path"
  /// The query of the request's URL, with `?`.
  public static let query: Self = "@query"
  /// The response's status.
  public static let status: Self = "@status"
  /// The digest of the content (RFC 9530). A signer adds the field with SHA-256; a verifier compares it with the body.
  public static let contentDigest: Self = "content-digest"

  /// Returns the header field of that name.
  public static func field(_ name: String) -> Self { Self(name) }

  /// Returns the value of the only query item of that name.
  public static func queryParameter(_ name: String) -> Self {
    Self("@query-param", [Parameter(name: "name", value: .string(QueryParameters.respelled(name)))])
  }

  /// The same component of the request, in the signature of its response (RFC 9421 §2.4).
  public var ofRequest: Self {
    Self(name, parameters.filter { $0.name != "req" } + [Parameter(name: "req", value: .boolean(true))])
  }

  /// The identifier, as it is written in `Signature-Input`.
  public var description: String {
    StructuredWriter.text(.string(name)) + parameters.map { StructuredWriter.text($0.name, $0.value) }.joined()
  }

  subscript(_ name: String) -> StructuredValue? { parameters.first { $0.name == name }?.value }

  /// The component with its parameters in an order that does not depend on their sender.
  var sorted: Self { Self(name, parameters.sorted { $0.name < $1.name }) }

  /// Reads a component from the inner list of `Signature-Input`; `nil` if it is no string.
  init?(_ member: StructuredMember) {
    guard case .string(let name)? = member.value, name == name.lowercased() else { return nil }
    self.init(
      name,
      member.parameters.names.compactMap { parameter in
        member.parameters[parameter].map { Parameter(name: parameter, value: $0) }
      })
  }
}
