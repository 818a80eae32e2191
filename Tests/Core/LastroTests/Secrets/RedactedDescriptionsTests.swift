// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import Testing

@Suite("Redacted descriptions")
struct RedactedDescriptionsTests {
  /// Returns a value's text in every usual form of printing.
  static func printed<Value>(_ value: Value) -> String {
    var dumped = ""
    dump(value, to: &dumped)
    dump([value as Value?], to: &dumped)
    return dumped + "\(value)" + String(reflecting: value) + "\([value])" + String(reflecting: Optional(value))
  }

  static func connection() -> ConnectionOptions {
    var connection = ConnectionOptions()
    connection.proxy = .url("http://user:s3cr3t@proxy.example:8080", bypass: ["bypassed.example"])
    connection.tls.identity = .init(
      certificate: .bytes(Array("s3cr3t".utf8)), key: .bytes(Array("s3cr3t".utf8)), keyPassword: "s3cr3t")
    return connection
  }

  static func request() throws -> ResourceRequest {
    var options = RequestOptions()
    options.operation = "findIt"
    options.connection = connection()
    return try ResourceRequest(
      method: HTTPRequest.Method.post, url: "https://example.com/path?token=s3cr3t&s3cr3t",
      headers: ["Authorization": "s3cr3t", "X-Plain": "s3cr3t"],
      body: RequestBody(source: .bytes(Data("s3cr3t".utf8))), options: options)
  }

  /// The first bytes of "s3cr3t" as dump prints them.
  static let firstBytes = ["- 115\n", "115, 51"]

  static func expectRedacted<Value>(_ value: Value, has parts: String...) {
    let text = printed(value)
    #expect(!text.contains("s3cr3t") && !firstBytes.contains(where: text.contains))
    for part in parts { #expect(text.contains(part)) }
  }

  @Test("Proxies are described without user and password")
  func proxies() {
    Self.expectRedacted(Self.connection().proxy, has: "http://***@proxy.example:8080", "bypassed.example")
    Self.expectRedacted(ProxyOptions.url("s3cr3t@proxy.example"), has: "***@proxy.example")
    Self.expectRedacted(ProxyOptions.url("http://proxy.example"), has: "http://proxy.example")
    Self.expectRedacted(ProxyOptions.environmentBypassing(["a.example"]), has: "environmentBypassing", "a.example")
  }

  @Test("Client certificates are described without bytes and password")
  func identities() throws {
    let identity = try #require(Self.connection().tls.identity)
    Self.expectRedacted(identity, has: "certificate: <6 bytes>", "keyPassword: ***")
    Self.expectRedacted(TLSOptions.Identity(certificate: .file("/c.pem"), keyPassword: "s3cr3t"), has: "/c.pem")
    let rotating = RotatingIdentity(identity)
    Self.expectRedacted(rotating, has: "certificate: <6 bytes>", "keyPassword: ***")
    Self.expectRedacted(TLSOptions.Identity(rotating), has: "certificate: <6 bytes>", "keyPassword: ***")
  }

  @Test("Options are described with all their contents")
  func options() throws {
    Self.expectRedacted(Self.connection().tls)
    Self.expectRedacted(Self.connection(), has: "proxy.example")
    Self.expectRedacted(try Self.request().options, has: "findIt")
  }

  @Test("Requests are described by method, URL, names of header fields and length of the body")
  func requests() throws {
    let request = try Self.request()
    let text = "POST https://example.com/path?token=***&***, fields: [Authorization, X-Plain], <6 bytes>"
    #expect(request.description == text)
    Self.expectRedacted(request, has: text, "findIt")
    Self.expectRedacted(request.body, has: "<6 bytes>")
    let transfer = TransferRequest(head: request.head, body: request.body, connection: request.options.connection)
    #expect(transfer.description == text)
    Self.expectRedacted(transfer, has: text, "proxy.example")
    Self.expectRedacted(RawHeaders([("Authorization", "s3cr3t")]), has: "Authorization")
  }
}
