// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroEveryday
import LastroTesting
import Testing

private struct User: Codable, Equatable {
  var name: String
}

/// Tests of downloads, events, pages, forms, cookies and the cache on a stack of the engine.
@Suite("Features on the engine", .timeLimit(.minutes(15)))
struct EngineFeatureTests {
  private let server: LoopbackServer
  private let stack: CurlNetworkStack
  private let url: String

  init() throws {
    server = try .http { request in
      switch request.pathSegments.first {
      case "events":
        LoopbackResponse(body: Array("data: a\n\ndata: b\n\n".utf8)).adding("Content-Type", "text/event-stream")
      case "lines": .text("{\"name\": \"ada\"}\n{\"name\": \"bob\"}\n")
      case "pages":
        request.queryItem("page") == nil
          ? .json(#"[{"name": "ada"}]"#).adding("Link", "<?page=2>; rel=next") : .json(#"[{"name": "bob"}]"#)
      case "form": LoopbackResponse(body: request.body)
      case "login": .text(request.head["Cookie"] ?? "").adding("Set-Cookie", "a=1")
      default:
        request.head["If-None-Match"] == nil
          ? .text("fine").adding("ETag", #""1""#).adding("Cache-Control", "no-cache") : .text("", status: 304)
      }
    }
    var engine = CurlConfiguration()
    engine.connection.proxy = .none
    stack = try CurlNetworkStack(engine)
    url = server.baseURL
  }

  @Test("A download writes its file")
  func download() async throws {
    let url = url + "/file"
    let path = FileManager.default.temporaryDirectory.appending(path: "download-\(server.port)").path()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let file = try await stack.download(.get(url), to: path)
    #expect(file.length == 4 && FileManager.default.contents(atPath: path) == Data("fine".utf8))
  }

  @Test("Server-sent events arrive one by one")
  func events() async throws {
    let url = url + "/events"
    var texts: [String] = []
    for try await event in stack.events(.get(url)).prefix(2) { texts.append(event.data) }
    #expect(texts == ["a", "b"])
  }

  @Test("JSON lines arrive as models")
  func lines() async throws {
    let url = url + "/lines"
    var users: [User] = []
    for try await user in stack.jsonLines(User.self, of: .get(url)) { users.append(user) }
    #expect(users.map(\.name) == ["ada", "bob"])
  }

  @Test("Lines of a body arrive as texts")
  func textLines() async throws {
    let url = url + "/lines"
    var texts: [String] = []
    for try await line in try await stack.stream(.get(url)).value.lines { texts.append(line) }
    #expect(texts == ["{\"name\": \"ada\"}", "{\"name\": \"bob\"}"])
  }

  @Test("Pages follow the Link field")
  func pages() async throws {
    let list = HTTPResource<[User], TextAPIError>.get(url + "/pages")
    var users: [User] = []
    for try await user in stack.pages(list, by: .link).items(\.self) { users.append(user) }
    #expect(users.map(\.name) == ["ada", "bob"])
  }

  @Test("A form sends its parts")
  func form() async throws {
    let url = url + "/form"
    let answer = try await stack.fetch(.send(.post, url, body: .multipart(["title": "Lisbon"])))
    #expect(String(decoding: answer.value, as: UTF8.self).contains("name=\"title\"\r\n\r\nLisbon\r\n"))
  }

  @Test("A cookie that a server sets is sent back to it")
  func cookies() async throws {
    var configuration = StackConfiguration()
    configuration.cookies = CookieJar()
    let stack = CurlNetworkStack(sharing: stack, configuration: configuration)
    _ = try await stack.fetch(.get(url + "/login"))
    #expect(try await stack.fetch(.get(url + "/login")).value == Data("a=1".utf8))
  }

  @Test("A cache revalidates with the entity tag of its response")
  func cache() async throws {
    var configuration = StackConfiguration()
    configuration.cache = HTTPCache()
    let stack = CurlNetworkStack(sharing: stack, configuration: configuration)
    for _ in 0..<2 { #expect(try await stack.fetch(.get(url + "/file")).value == Data("fine".utf8)) }
    #expect(server.requests.map { $0.head["If-None-Match"] } == [nil, #""1""#])
  }
}
