// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import Testing

@Suite("Printed failures", .timeLimit(.minutes(15)))
struct FailureWordsTests {
  @Test("A call that was retried says that it is not retried again, and one that was not says why")
  func retries() async throws {
    let server = try LoopbackServer.http { _ in .text("down\n", status: 503) }
    let again = try await Lastro.run(["fetch", server.baseURL, "--retry", "2", "--backoff", "constant:0"])
    #expect(again.status == 22)
    #expect(again.errors.contains("\n  not retried again: the limit of 2 retries is reached"), "\(again.errors)")
    let post = try await Lastro.run(["fetch", server.baseURL, "-d", "a", "--retry", "2"])
    #expect(!post.errors.contains("again"), "\(post.errors)")
  }

  @Test("Hints name flags")
  func hints() async throws {
    let server = try LoopbackServer.http { request in
      request.path == "/large" ? .text("0123456789") : .text("who are you?\n", status: 401)
    }
    let refused = try await Lastro.run(["fetch", server.baseURL])
    #expect(refused.errors.contains("look at -u, --bearer and -H"), "\(refused.errors)")
    let large = try await Lastro.run(["fetch", "\(server.baseURL)/large", "--max-filesize", "4"])
    #expect(large.status == 63 && large.errors.contains("raise --max-filesize"), "\(large.errors)")
    let slow = try LoopbackServer.http { _ in .fault(.stall) }
    let late = try await Lastro.run(["fetch", slow.baseURL, "-m", "0.2"])
    #expect(late.status == 28 && late.errors.contains("raise -m"), "\(late.errors)")
  }

  @Test("An error is printed on its own line, also after a body without a line end")
  func ownLine() async throws {
    let server = try LoopbackServer.http { _ in .text("gone", status: 410) }
    let result = try await Lastro.run(
      ["-c", "exec \"$0\" fetch \"$1\" 2>&1", Lastro.path, server.baseURL], program: "/bin/sh")
    #expect(
      result.lines.first == "gone" && result.text.contains("\nlastro: http/unexpected_status: "), "\(result.text)")
  }

  @Test("ws and events print the server's response to a refusal")
  func refusals() async throws {
    let server = try LoopbackServer.http { _ in .text("no such room\n", status: 404) }
    let socket = try await Lastro.run(["ws", server.baseURL.replacing("http://", with: "ws://")])
    #expect(socket.status == 22 && socket.errors.contains("\n  the server says: no such room\n"), "\(socket.errors)")
    let events = try await Lastro.run(["events", server.baseURL])
    #expect(events.status == 22 && events.errors.contains("\n  the server says: no such room\n"), "\(events.errors)")
  }

  @Test("--http2 on a plain HTTP/1.1 server says that it may not support it")
  func priorKnowledge() async throws {
    let server = try LoopbackServer.http { _ in .text("fine") }
    let result = try await Lastro.run(["fetch", server.baseURL, "--http2"])
    #expect(result.status != 0)
    #expect(
      result.errors.contains("the server may not speak HTTP/2 without TLS: leave --http2 out"), "\(result.errors)")
  }

  @Test("A request that times out behind a Shadowsocks server names that server")
  func silentHop() async throws {
    let hop = try LoopbackServer { connection in _ = connection.readToEnd() }
    let via = "ss://aes-256-gcm:wrong@127.0.0.1:\(hop.port)"
    let result = try await Lastro.run(["fetch", "http://127.0.0.1:1/", "--via", via, "-m", "0.3"])
    #expect(result.status == 28)
    #expect(result.errors.contains("the Shadowsocks server 127.0.0.1:\(hop.port)"), "\(result.errors)")
    #expect(!result.errors.contains("wrong@"), "\(result.errors)")
  }

  @Test(
    "-H 'Transfer-Encoding: chunked' sends data and standard input in chunks, and is refused for bodies with a length")
  func chunks() async throws {
    let server = try LoopbackServer.http { request in
      .text("\(request.head["Transfer-Encoding"] ?? "none") \(request.text)")
    }
    let field = ["-H", "Transfer-Encoding: chunked"]
    let data = try await Lastro.run(["fetch", server.baseURL, "-d", "hello"] + field)
    #expect(data.text == "chunked hello", "\(data.errors)")
    let input = try await Lastro.run(["fetch", server.baseURL, "-T", "-"] + field, input: "hello")
    #expect(input.text == "chunked hello", "\(input.errors)")
    let none = try await Lastro.run(["fetch", server.baseURL] + field)
    #expect(none.status == 3 && none.errors.contains("-T - and -d send in chunks"), "\(none.errors)")
  }
}
