// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import HTTPTypes
import Lastro
import Testing

@Suite("curl commands")
struct CurlCommandTests {
  @Test("A plain request is rendered")
  func plain() throws {
    #expect(CurlCommand.render(try ResourceRequest(url: "https://h.com/a?b=1&c=2")) == "curl 'https://h.com/a?b=1&c=2'")
    #expect(
      CurlCommand.render(try ResourceRequest(method: .head, url: "https://h.com")) == "curl --head https://h.com/")
    #expect(
      CurlCommand.render(try ResourceRequest(method: .delete, url: "https://h.com")) == "curl -X DELETE https://h.com/")
  }

  @Test("Header fields and body are rendered with secrets masked")
  func full() throws {
    let request = try ResourceRequest(
      method: .post, url: "https://h.com/?token=S1",
      headers: [.authorization: "Bearer S2", "X-A": "it's", "X-Empty": ""],
      body: .raw(#"{"password":"S3"}"#, contentType: "application/json"))
    #expect(
      CurlCommand.render(request) == """
        curl -X POST 'https://h.com/?token=***' -H 'Authorization: ***' -H 'X-A: it'\\''s' -H 'X-Empty;' \
        -H 'Content-Type: application/json' --data-raw '{"password":"***"}'
        """)
    #expect(CurlCommand.render(request, redaction: .off).contains("Bearer S2"))
  }

  @Test("Characters that curl would interpret are neutralised")
  func interpretation() throws {
    #expect(CurlCommand.render(try ResourceRequest(url: "http://[::1]/")) == "curl --globoff 'http://[::1]/'")
    #expect(CurlCommand.render(try ResourceRequest(url: "http://h/a/../b")) == "curl --path-as-is http://h/a/../b")
    #expect(
      CurlCommand.render(try ResourceRequest(method: .post, url: "http://h", body: .raw([97])))
        == "curl -X POST http://h/ -H Content-Type: --data-raw a")
  }

  @Test("Bodies that are binary, too long, in a file or in a stream are described")
  func otherBodies() throws {
    func rendered(_ body: RequestBody) throws -> String {
      CurlCommand.render(try ResourceRequest(method: .put, url: "http://h", body: body), maximumBodyBytes: 4)
    }
    let start = "curl -X PUT http://h/ -H Content-Type: "
    #expect(try rendered(.raw([0xFF])) == start + "--data-binary @-")
    #expect(try rendered(.raw(Array("12345".utf8))) == start + "--data-binary @-")
    #expect(try rendered(.stream(AsyncStream<Data> { $0.finish() })) == start + "--data-binary @-")
    #expect(try rendered(RequestBody(source: .file(path: "/a b", length: 1))) == start + "--data-binary '@/a b'")
  }

  @Test("A shell reproduces the quoted text")
  func quoting() throws {
    let bodies = [
      "", "a", "it's", "''", "$(id) `id` $HOME \"x\" \\n !! * ? ~ # & | ; < >", "a\nb\r\n\tc", "\u{1}2\u{7F}3\\4'5",
      "é😀\u{85}x", "-d @/etc/passwd",
    ]
    var script = ""
    for body in bodies {
      let command = CurlCommand.render(
        try ResourceRequest(method: .post, url: "http://h", body: .raw(body)), redaction: .off)
      #expect(!command.contains { $0.isNewline })
      script += "curl() { printf '%s' \"${@: -1}\"; printf '\\0'; }\n\(command)\n"
    }
    let words = try Self.output(ofBash: script).split(separator: 0, omittingEmptySubsequences: false)
    #expect(words.dropLast().map { String(decoding: $0, as: UTF8.self) } == bodies)
  }

  private static func output(ofBash script: String) throws -> [UInt8] {
    let quoted = script.replacing("'", with: "'\\''")
    let stream = try #require(popen("LC_ALL=C exec /bin/bash -c '\(quoted)'", "re"))
    var output: [UInt8] = []
    while case let byte = getc(stream), byte != EOF { output.append(UInt8(truncatingIfNeeded: byte)) }
    #expect(pclose(stream) == 0)
    return output
  }
}
