// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroCurl
import LastroEveryday
import PeerSupport
import TestSupport
import Testing

@Suite("Multipart messages to and from third-party servers", .peers(.nginx, .python), .timeLimit(.minutes(15)))
struct MultipartPeersTests {
  private struct Field: Decodable, Equatable {
    var name: String?
    var filename: String?
    var type: String?
    var body_base64: Data
  }

  @Test("Python parses a form that is sent", arguments: [false, true])
  func written(isStreamed: Bool) async throws {
    let path = NSTemporaryDirectory() + "form-\(UUID().uuidString)"
    let content = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    try content.write(to: URL(filePath: path))
    var form = MultipartForm()
    form.add("text", "a\nb")
    form.add("ü \"quoted\"\r\n", "x")
    form.add("empty", "")
    try form.add("file", file: path, filename: "ö; x=\"1\".bin", contentType: "a/b; c=d")
    if isStreamed { form.add("stream", .stream(Chunks("\r\n--", "x", "\r\n"))) }
    form.add("bytes", content)
    let stack = try CurlNetworkStack(configuration: .patient)
    let url = "http://127.0.0.1:\(try Peers.python.port)/form"
    let body = try RequestBody.multipart(form)
    #expect((body.length == nil) == isStreamed)
    let resource = HTTPResource<[Field], TextAPIError>.send(.post, url, body: body)
    let read = try await stack.fetch(resource).value
    var expected = [
      Field(name: "text", body_base64: Data("a\r\nb".utf8)),
      Field(name: "ü %22quoted%22%0D%0A", body_base64: Data("x".utf8)), Field(name: "empty", body_base64: Data()),
      Field(name: "file", filename: "ö; x=%221%22.bin", type: "a/b; c=d", body_base64: content),
    ]
    if isStreamed { expected.append(Field(name: "stream", body_base64: Data("\r\n--x\r\n".utf8))) }
    expected.append(Field(name: "bytes", body_base64: content))
    #expect(read == expected)
  }

  @Test("Parts that Python writes are parsed", arguments: [1, 2, 20])
  func read(count: Int) async throws {
    let stack = try CurlNetworkStack(configuration: .patient)
    let url = "http://127.0.0.1:\(try Peers.python.port)/mixed/\(count)"
    let answer = try await stack.stream(ResourceRequest(url: url))
    var number = 0
    for try await part in try answer.value.parts(of: answer.response.headerFields) {
      #expect(part.filename == "a \"\(number)\"\\.txt")
      #expect(part.fields[.contentType] == "text/plain; charset=\"us-ascii\"")
      let text = String(repeating: "part \(number)\r\n", count: number)
      #expect(try await part.body.collect(upTo: 10_000) == Data(text.utf8))
      number += 1
    }
    #expect(number == count)
  }

  @Test("Nginx's ranges are the requested ones, and the connection is reused")
  func ranges() async throws {
    let stack = try CurlNetworkStack(configuration: .patient)
    let url = "http://127.0.0.1:\(try Peers.nginx.ports.plain)/files/1m"
    for _ in 0..<2 {
      let answer = try await stack.stream(
        ResourceRequest(url: url, headers: [.range: "bytes=0-9,5-300000,-1", "Accept-Encoding": "identity"]))
      var bounds: [ClosedRange<Int64>?] = []
      for try await part in try answer.value.parts(of: answer.response.headerFields) {
        let range = try #require(part.byteRange)
        bounds.append(range)
        #expect(part.fields[.contentRange]?.hasSuffix("/1048576") == true)
        let body = try await part.body.collect(upTo: 1 << 20)
        #expect(body == Data(range.map { UInt8($0 % 251) }))
      }
      #expect(bounds == [0...9, 5...300_000, 1_048_575...1_048_575])
    }
    let connections = try Peers.nginx.accessLog().filter { $0.contains("/files/1m") }.map {
      $0.split(separator: " ")[0]
    }
    #expect(Set(connections).count == 1)
  }
}
