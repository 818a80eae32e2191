// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import Foundation
import Testing

@testable import Lastro
@testable import LastroSigning

/// A case of AWS's test suite for Signature Version 4.
struct AWSCase: Decodable, Sendable, CustomTestStringConvertible {
  struct Context: Decodable, Sendable {
    struct Credentials: Decodable, Sendable {
      var accessKeyID: String
      var secret: String
      var token: String?

      enum CodingKeys: String, CodingKey {
        case accessKeyID = "access_key_id", secret = "secret_access_key", token
      }
    }

    var credentials: Credentials
    var normalize: Bool
    var region: String
    var service: String
    var signsBody: Bool
    var omitsToken: Bool?

    enum CodingKeys: String, CodingKey {
      case credentials, normalize, region, service, signsBody = "sign_body", omitsToken = "omit_session_token"
    }
  }

  var name: String
  var context: Context
  var request: String
  var canonical: String
  var stringToSign: String
  var signature: String
  var queryCanonical: String
  var querySignature: String

  var testDescription: String { name }

  static func all() throws -> [AWSCase] {
    try JSONDecoder().decode([AWSCase].self, from: ConformanceData.file("aws-sigv4/cases.json"))
  }

  var signing: AWSSignature {
    AWSSignature(time: "20150830T123600Z", region: context.region, service: context.service)
  }

  /// The token, if it is signed.
  var signedToken: String? { context.omitsToken == true ? nil : context.credentials.token }

  /// The request as it is written, without the fields that signing adds.
  func parts() throws -> AWSSignature.Request {
    let sections = request.components(separatedBy: "\n\n")
    var lines = sections[0].split(separator: "\n", omittingEmptySubsequences: true)
    let first = lines.removeFirst()
    let method = first.prefix { $0 != " " }
    let target = first.dropFirst(method.count + 1).dropLast(" HTTP/1.1".count)
    var fields: [(name: String, value: String)] = []
    for line in lines {
      if line.first == " ", let last = fields.indices.last {
        fields[last].value += "\n" + line
      } else {
        let colon = try #require(line.firstIndex(of: ":"))
        fields.append((line[..<colon].lowercased(), String(line[line.index(after: colon)...])))
      }
    }
    let path = String(target.prefix { $0 != "?" })
    let respelled = AWSSignature.respelledTarget("/" + target.drop { $0 != "?" })
    let body = sections.count > 1 ? sections[1...].joined(separator: "\n\n") : ""
    return AWSSignature.Request(
      method: String(method), path: context.normalize ? AWSSignature.normalized(path) : AWSSignature.encoded(path),
      query: String(respelled.drop { $0 != "?" }.dropFirst()), fields: fields,
      payload: try MessageDigest(of: Data(body.utf8)).hexadecimal)
  }
}

@Suite("AWS's test suite for Signature Version 4")
struct AWSVectorTests {
  @Test("The suite has all its cases")
  func count() throws { #expect(try AWSCase.all().count == 38) }

  @Test("Signatures in header fields are those of the suite", arguments: try AWSCase.all())
  func header(_ vector: AWSCase) throws {
    var parts = try vector.parts()
    parts.fields.append(("x-amz-date", vector.signing.time))
    if let token = vector.signedToken { parts.fields.append(("x-amz-security-token", token)) }
    if vector.context.signsBody { parts.fields.append(("x-amz-content-sha256", parts.payload)) }
    #expect(parts.canonical == vector.canonical)
    #expect(try vector.signing.stringToSign(parts) == vector.stringToSign)
    let key = try vector.signing.key(from: Secret(vector.context.credentials.secret))
    #expect(try vector.signing.signature(of: parts, key: key) == vector.signature)
  }

  @Test("Signatures in the query are those of the suite", arguments: try AWSCase.all())
  func query(_ vector: AWSCase) throws {
    var parts = try vector.parts()
    var items = [
      ("X-Amz-Algorithm", AWSSignature.algorithm),
      ("X-Amz-Credential", "\(vector.context.credentials.accessKeyID)/\(vector.signing.scope)"),
      ("X-Amz-Date", vector.signing.time), ("X-Amz-Expires", "3600"), ("X-Amz-SignedHeaders", parts.signedNames),
    ]
    if let token = vector.signedToken { items.append(("X-Amz-Security-Token", token)) }
    let added = items.map { $0 + "=" + $1.percentEncoded(keeping: .unreserved) }
    parts.query = ([parts.query].filter { !$0.isEmpty } + added).joined(separator: "&")
    #expect(parts.canonical == vector.queryCanonical)
    let key = try vector.signing.key(from: Secret(vector.context.credentials.secret))
    #expect(try vector.signing.signature(of: parts, key: key) == vector.querySignature)
  }
}
