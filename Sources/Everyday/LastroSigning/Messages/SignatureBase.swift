// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import LastroWire

/// A message whose parts are signed, and the bytes that a signature is made of (RFC 9421 §2.5).
struct SignatureBase {
  /// The request; for a response, the one that it responds to, if it is known.
  var request: HTTPRequest?
  /// The response, if that is what is signed.
  var response: HTTPResponse?

  /// Returns the signature base.
  ///
  /// - Parameter input: the covered components and the parameters, as `Signature-Input` has them.
  /// - Throws: ``SignatureError`` if the message lacks a component, or a component is not supported.
  func bytes(_ components: [SignatureComponent], input: String) throws(SignatureError) -> [UInt8] {
    var lines: [String] = []
    for component in components {
      // A value cannot pass for another component: `HTTPFields` and `HTTPRequest` have no line breaks.
      lines.append("\(component): \(try value(of: component))")
    }
    return Array((lines + ["\"@signature-params\": " + input]).joined(separator: "\n").utf8)
  }

  private func value(of component: SignatureComponent) throws(SignatureError) -> String {
    let isOfRequest = component["req"] == .boolean(true)
    for parameter in component.parameters where !["req", "key", "bs", "name"].contains(parameter.name) {
      throw Self.unsupported(component)
    }
    if isOfRequest, response == nil { throw Self.unsupported(component) }
    if component.name == "@status" {
      guard let response, component.parameters.isEmpty else { throw Self.unsupported(component) }
      return String(response.status.code)
    }
    guard response == nil || isOfRequest else {
      guard !component.name.hasPrefix("@"), let response else { throw Self.unsupported(component) }
      return try field(component, of: response.headerFields)
    }
    guard let request else {
      throw SignatureError(
        .missing, "the signature covers \(component), and the request is not known",
        hint: "pass the request to the verifier")
    }
    guard component.name.hasPrefix("@") else { return try field(component, of: request.headerFields) }
    return try derived(component, of: request)
  }

  private func derived(_ component: SignatureComponent, of request: HTTPRequest) throws(SignatureError) -> String {
    let target = request.path ?? "/"
    let mark = target.firstIndex(of: "?")
    let query = mark.map { target[target.index(after: $0)...] }
    let path = target[..<(mark ?? target.endIndex)]
    if component.name == "@query-param" {
      guard case .string(let name)? = component["name"] else { throw Self.unsupported(component) }
      let values = QueryParameters.values(of: name, in: query ?? "")
      guard values.count == 1 else {
        throw SignatureError(
          .missing, "the query has \(values.count) items for the component \(component), and must have one")
      }
      return values[0]
    }
    guard component.parameters.allSatisfy({ $0.name == "req" }) else { throw Self.unsupported(component) }
    switch component.name {
    case "@method": return request.method.rawValue
    case "@target-uri": return "\(request.scheme ?? "")://\(request.authority ?? "")\(target)"
    case "@authority": return (request.authority ?? "").lowercased()
    case "@scheme": return (request.scheme ?? "").lowercased()
    case "@request-target": return target
    case "@path": return path.isEmpty ? "/" : String(path)
    case "@query": return "?" + (query ?? "")
    default: throw Self.unsupported(component)
    }
  }

  private func field(_ component: SignatureComponent, of fields: HTTPFields) throws(SignatureError) -> String {
    let values = HTTPField.Name(component.name).map { name in fields[fields: name].map(\.value) } ?? []
    guard !values.isEmpty else {
      throw SignatureError(
        .missing, "the message has no field for the component \(component)",
        hint: "cover only fields that the message has when it is signed; the engine adds some later")
    }
    if component["name"] != nil { throw Self.unsupported(component) }
    if component["bs"] == .boolean(true) {
      guard component["key"] == nil else { throw Self.unsupported(component) }
      return values.map { StructuredWriter.text(.bytes(Array($0.utf8))) }.joined(separator: ", ")
    }
    let joined = values.map { value in
      String(
        decoding: value.utf8.drop(while: Self.isBlank).reversed().drop(while: Self.isBlank).reversed(), as: UTF8.self)
    }.joined(separator: ", ")
    guard let key = component["key"] else { return joined }
    guard case .string(let key) = key, let member = StructuredReader.dictionary(joined.utf8)?[key] else {
      throw SignatureError(.missing, "the field of the component \(component) has no such member")
    }
    return StructuredWriter.text(member)
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  private static func unsupported(_ component: SignatureComponent) -> SignatureError {
    SignatureError(.unsupported, "the component \(component) is not supported in this message")
  }
}
