// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroWire
import Testing

@testable import LastroHTTP

/// The heads of requests with fields from the shared vocabulary.
@Suite("Request heads for a stream")
struct RequestHeadTests {
  private func bytes(_ request: HTTPRequest) throws -> [UInt8] {
    var none = CommonFields(.none)
    var writer = RequestWriter()
    _ = try HTTP1Request(TransferRequest(head: request), &none, mayExpect: false, with: &writer)
    return writer.withBytes { Array($0) }
  }

  private func head(_ request: HTTPRequest) throws -> String { String(decoding: try bytes(request), as: UTF8.self) }

  @Test("Host is sent first and once: the request's own, else the authority")
  func host() throws {
    var request = HTTPRequest(method: .get, scheme: "http", authority: "h:81", path: "/a?b")
    request.headerFields[.accept] = "c/d"
    #expect(try head(request) == "GET /a?b HTTP/1.1\r\nHost: h:81\r\nAccept: c/d\r\n\r\n")
    request.headerFields[try #require(HTTPField.Name("Host"))] = "front"
    #expect(try head(request) == "GET /a?b HTTP/1.1\r\nHost: front\r\nAccept: c/d\r\n\r\n")
  }

  @Test("Field values are sent byte for byte, and cookies in one field")
  func values() throws {
    var request = HTTPRequest(method: .get, scheme: "http", authority: "h", path: "/")
    request.headerFields.append(HTTPField(name: .from, lenientValue: [0x61, 0xE9, 0xFF]))
    request.headerFields[.cookie] = "a=1; b=2"
    let start = Array("GET / HTTP/1.1\r\nHost: h\r\nFrom: a".utf8)
    #expect(try bytes(request) == start + [0xE9, 0xFF] + Array("\r\nCookie: a=1; b=2\r\n\r\n".utf8))
  }

  @Test("Invalid paths, hosts, fields and framing are refused before anything is sent")
  func refusals() throws {
    func code(_ change: (inout HTTPRequest) -> Void) -> FailureCode? {
      var request = HTTPRequest(method: .get, scheme: "http", authority: "h", path: "/")
      change(&request)
      do {
        _ = try head(request)
        return nil
      } catch {
        let error = error as? TransportError
        #expect(error?.stage == .request && error?.requestSent == false)
        return error?.code
      }
    }
    #expect(code { _ in } == nil)
    #expect(code { $0.path = "/a b" } == .invalidURL)
    #expect(code { $0.path = "/\r\nX: y" } == .invalidURL)
    #expect(code { $0.authority = "h\r\nX: y" } == .invalidHeader)
    #expect(code { $0.headerFields.append(HTTPField(name: .from, lenientValue: [0x61, 0x01])) } == .invalidHeader)
    #expect(code { $0.headerFields.append(HTTPField(name: .transferEncoding, value: "gzip")) } == .conflictingFraming)
  }

  @Test(
    "Each violation of a request has one code",
    arguments: [
      (RequestViolation.Kind.method, FailureCode.invalidMethod), (.target, .invalidURL), (.fieldName, .invalidHeader),
      (.fieldValue, .invalidHeader), (.host, .invalidHeader), (.framing, .conflictingFraming),
    ])
  func mapping(kind: RequestViolation.Kind, code: FailureCode) {
    let error = RequestViolation(kind, "why").transportError
    #expect(error.code == code && error.stage == .request && error.message == "why" && !error.requestSent)
  }
}
