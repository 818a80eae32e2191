// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroEveryday
import LastroTesting
import Testing

@Suite("A stack's base URL in the features above it", .timeLimit(.minutes(15)))
struct BaseURLOfFeaturesTests {
  /// An API whose servers must not be contacted by any test.
  private struct Shop: HTTPResourceEndpoint {
    var path: String?
    var baseURL: URL { URL(string: "https://shop.invalid/v1") ?? URL(filePath: "/") }
  }

  private static func resource(_ path: String) -> HTTPResource<Data, APIFailure> {
    .init(
      baseRequestMaking: .endpoint(Shop(path: path)), decoding: .raw,
      errorDecoding: ErrorDecoding { _, response in APIFailure(status: response.status.code) })
  }

  private struct APIFailure: Error {
    var status: Int
  }

  @Test("Downloads, events, lines, pages, operations and uploads are resolved against it")
  func features() async throws {
    let server = try LoopbackServer.http { request in
      switch request.pathSegments.last {
      case "file": .text("fine")
      case "events": LoopbackResponse(body: Array("data: a\n\n".utf8)).adding("Content-Type", "text/event-stream")
      case "lines": .text("1\n2\n")
      case "pages":
        request.queryItem("page") == nil ? .text("one").adding("Link", "<?page=2>; rel=next") : .text("two")
      default: .text("", status: 404)
      }
    }
    var engine = CurlConfiguration()
    engine.connection.proxy = .none
    var configuration = StackConfiguration()
    configuration.baseURL = server.baseURL + "/v2"
    let stack = try CurlNetworkStack(engine, configuration: configuration)

    let path = FileManager.default.temporaryDirectory.appending(path: "based-\(server.port)").path()
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(try await stack.download(Self.resource("file"), to: path).length == 4)
    for try await event in stack.events(Self.resource("events")).prefix(1) { #expect(event.data == "a") }
    var numbers: [Int] = []
    for try await number in stack.jsonLines(Int.self, of: Self.resource("lines")) { numbers.append(number) }
    #expect(numbers == [1, 2])
    var pages: [String] = []
    for try await page in stack.pages(Self.resource("pages"), by: .link) {
      pages.append(String(decoding: page.value, as: UTF8.self))
    }
    #expect(pages == ["one", "two"])
    let begun = await #expect(throws: HTTPFetchError<APIFailure>.self) {
      try await stack.startOperation(Self.resource("begun"))
    }
    let sent = await #expect(throws: HTTPFetchError<APIFailure>.self) {
      try await stack.upload(file: path, to: Self.resource("sent"))
    }
    #expect(begun?.statusCode?.code == 404 && sent?.statusCode?.code == 404)
    #expect(server.requests.allSatisfy { $0.target.hasPrefix("/v2/") })
  }
}
