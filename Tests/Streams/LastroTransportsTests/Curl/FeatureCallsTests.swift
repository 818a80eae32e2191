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

/// Everyday calls that need a module beside the engine; `CallLengthTests` counts them too.
@Suite("Everyday calls of features", .timeLimit(.minutes(5)))
struct FeatureCallsTests {
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

  @Test("the download of a file")
  func download() async throws {
    let url = url + "/file"
    let path = FileManager.default.temporaryDirectory.appending(path: "download-\(server.port)").path()
    defer { try? FileManager.default.removeItem(atPath: path) }
    // call: the download of a file, which goes on where it was cut
    let file = try await stack.download(.get(url), to: path)
    // Alamofire: let file = try await AF.download(url, to: destination).serializingDownloadedFileURL().value
    // end
    #expect(file.length == 4 && FileManager.default.contents(atPath: path) == Data("fine".utf8))
  }

  @Test("server-sent events")
  func events() async throws {
    let url = url + "/events"
    var texts: [String] = []
    // call: server-sent events
    for try await event in stack.events(.get(url)).prefix(2) { texts.append(event.data) }
    // OkHttp: EventSources.createFactory(client).newEventSource(Request.Builder().url(url).build(), object :
    //   EventSourceListener() { override fun onEvent(source: EventSource, id: String?, type: String?, data: String) {
    //   texts.add(data) } })
    // end
    #expect(texts == ["a", "b"])
  }

  @Test("JSON lines")
  func lines() async throws {
    let url = url + "/lines"
    var users: [User] = []
    // call: JSON lines (the others have none)
    for try await user in stack.jsonLines(User.self, of: .get(url)) { users.append(user) }
    // end
    #expect(users.map(\.name) == ["ada", "bob"])
  }

  @Test("lines of a body")
  func textLines() async throws {
    let url = url + "/lines"
    var texts: [String] = []
    // call: lines of a body
    for try await line in try await stack.lines(of: .get(url)) { texts.append(line) }
    // OkHttp: client.newCall(Request.Builder().url(url).build()).execute().body!!.charStream().forEachLine {
    //   line -> texts.add(line) }
    // end
    #expect(texts == ["{\"name\": \"ada\"}", "{\"name\": \"bob\"}"])
  }

  @Test("pages by Link")
  func pages() async throws {
    let list = HTTPResource<[User], TextAPIError>.get(url + "/pages")
    var users: [User] = []
    // call: pages by Link (the others have none)
    for try await user in stack.pages(list, by: .link).items { users.append(user) }
    // end
    #expect(users.map(\.name) == ["ada", "bob"])
  }

  @Test("a form")
  func form() async throws {
    let url = url + "/form"
    // call: a multipart form
    let answer = try await stack.fetch(.send(.post, url, body: .multipart(["title": "Lisbon"])))
    // Alamofire: let answer = try await AF.upload(multipartFormData: { $0.append(Data("Lisbon".utf8), withName:
    //   "title") }, to: url).serializingData().value
    // end
    #expect(String(decoding: answer.value, as: UTF8.self).contains("name=\"title\"\r\n\r\nLisbon\r\n"))
  }

  @Test("cookies of a session")
  func cookies() async throws {
    var configuration = StackConfiguration()
    // call: cookies
    configuration.cookies = CookieJar()
    // OkHttp: builder.cookieJar(JavaNetCookieJar(CookieManager()))
    // end
    let stack = CurlNetworkStack(sharing: stack, configuration: configuration)
    _ = try await stack.fetch(.get(url + "/login"))
    #expect(try await stack.fetch(.get(url + "/login")).value == Data("a=1".utf8))
  }

  @Test("a cache, which asks with the entity tag that it has")
  func cache() async throws {
    var configuration = StackConfiguration()
    // call: ETag and 304
    configuration.cache = HTTPCache()
    // OkHttp: builder.cache(Cache(directory, size))
    // end
    let stack = CurlNetworkStack(sharing: stack, configuration: configuration)
    for _ in 0..<2 { #expect(try await stack.fetch(.get(url + "/file")).value == Data("fine".utf8)) }
    #expect(server.requests.map { $0.head["If-None-Match"] } == [nil, #""1""#])
  }
}
