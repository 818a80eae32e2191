// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import PeerSupport
import Testing

@Suite("lastro fetch: forms and pages", .peers(.python), .timeLimit(.minutes(15)))
struct FetchFormTests {
  /// Returns the parts that the Python server read: name, file name, type and text of each.
  private func parts(_ flags: [String], input: String = "") async throws -> [[String?]] {
    let url = "http://127.0.0.1:\(try Peers.python.port)/form"
    let result = try await Lastro.run(["fetch"] + flags + [url], input: input)
    #expect(result.status == 0, "\(result.errors)")
    let parts = try #require(JSONSerialization.jsonObject(with: result.output) as? [[String: Any]], "\(result.text)")
    return parts.map { part in
      let body = (part["body_base64"] as? String).flatMap { Data(base64Encoded: $0) } ?? Data()
      return [
        part["name"] as? String, part["filename"] as? String, part["type"] as? String,
        String(decoding: body, as: UTF8.self),
      ]
    }
  }

  @Test("-F accepts texts, files and texts of files, with type and name, as curl does")
  func forms() async throws {
    let directory = try PeerDirectory()
    let file = try directory.write("content", to: "a;b.txt")
    let plain = try directory.write("content", to: "c.txt")
    let sent = try await parts(
      [
        "-F", "a=one two", "-F", "b=@\(plain)", "-F",
        "c=@\"\(file)\";type=text/x;charset=utf-8;filename=\"d \\\"e\\\".txt\"",
        "-F", "f=<\(plain)", "-F", "g=<\(plain);type=text/y", "-F", "h=\"a;b\"", "-F", "i={};type=application/json",
        "-F", "j=@-;filename=in.txt", "--form-string", "k=@c;type=d",
      ], input: "typed")
    let text = "text/plain"
    #expect(
      sent == [
        ["a", nil, nil, "one two"], ["b", "c.txt", text, "content"],
        ["c", "d %22e%22.txt", "text/x;charset=utf-8", "content"], ["f", nil, nil, "content"],
        ["g", nil, "text/y", "content"], ["h", nil, nil, "a;b"], ["i", nil, "application/json", "{}"],
        ["j", "in.txt", text, "typed"], ["k", nil, nil, "@c;type=d"],
      ])
  }

  @Test("--paginate prints page after page, and reports one that may not be followed")
  func pages() async throws {
    let server = try LoopbackServer.http { request in
      let page = Int(request.queryItem("page") ?? "1") ?? 1
      let answer = LoopbackResponse.text("page \(page)\n")
      switch page {
      case 1, 2: return answer.adding("Link", "<?page=\(page + 1)>; rel=\"next\"")
      case 7: return answer.adding("Link", "<http://localhost:1/>; rel=next")
      case 8: return answer.adding("Link", "<?page=9>; rel=next")
      case 9: return LoopbackResponse.text("gone\n", status: 404)
      case 10...: return answer.adding("Link", "<?page=\(page + 1)>; rel=next")
      default: return answer
      }
    }
    let result = try await Lastro.run(["fetch", "--paginate", server.baseURL + "/"])
    #expect(result.status == 0 && result.text == "page 1\npage 2\npage 3\n", "\(result.errors)")
    let json = try await Lastro.run(["fetch", "--paginate", "--report", server.baseURL + "/"]).json()
    #expect(json["body_bytes"] as? Int == 21 && json["status"] as? Int == 200)
    let foreign = try await Lastro.run(["fetch", "--paginate", server.baseURL + "/?page=7"])
    #expect(foreign.status != 0 && foreign.errors.contains("request/foreign_page"))
    #expect(foreign.text == "page 7\n")
    let missing = try await Lastro.run(["fetch", "--paginate", server.baseURL + "/?page=8"])
    #expect(missing.status != 0 && missing.text == "page 8\ngone\n")
    let each = try await Lastro.run(["fetch", "--paginate", "--max-body", "7", server.baseURL + "/"])
    #expect(each.status == 0 && each.output.count == 21, "\(each.errors)")
    let large = try await Lastro.run(["fetch", "--paginate", "--max-body", "6", server.baseURL + "/"])
    #expect(large.errors.contains("limit/body_too_large"))
    let endless = try await Lastro.run(["fetch", "--paginate", "--timeout", "0.05", server.baseURL + "/?page=10"])
    #expect(endless.errors.contains("timeout/total_timeout"), "\(endless.errors)")
  }
}
