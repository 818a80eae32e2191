// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroEveryday

/// Recipes for responses that arrive in pieces.
enum StreamRecipes {
  static func run(_ recipes: RecipeStage) async throws {
    let api = recipes.api
    await recipes.check("lines", prints: ["started", "ready"]) { try await lines(api) }
    await recipes.check("JSON lines", prints: ["Light", "scatters."]) { try await jsonLines(api) }
    await recipes.check("events", prints: ["1 placed tea", "2 paid tea"]) { try await events(api) }
    await recipes.check("model", prints: ["Light ", "scatters."]) { try await model(api) }
    await recipes.check("pages", prints: ["1", "2", "3"]) { try await pages(api) }
    await recipes.check("operation", prints: ["/reports/1"]) { try await operation(api) }
  }

  private static func lines(_ api: CurlNetworkStack) async throws {
    // sample: lines
    for try await line in try await api.stream(.get("/log")).value.lines { print(line) }
    // end
  }

  private static func jsonLines(_ api: CurlNetworkStack) async throws {
    // sample: JSON lines
    struct Part: Decodable, Sendable { let text: String, done: Bool }
    for try await part in api.jsonLines(Part.self, of: .get("/parts"), until: \.done) { print(part.text) }
    // end
  }

  private static func events(_ api: CurlNetworkStack) async throws {
    // sample: events
    for try await event in api.events(.get("/orders")) {  // reconnects until the server sends 204
      print(event.lastEventID, event.name, event.data)
    }
    // end
  }

  private static func model(_ api: CurlNetworkStack) async throws {
    // sample: model
    struct Piece: Decodable, Sendable { let text: String }
    let answer = api.events(.post("/chat", json: ["prompt": "Why is the sky blue?"]))
    for try await piece in answer.decoding(Piece.self, until: "[DONE]", failure: .key("error")) {
      print(piece.text, terminator: "")
    }
    // end
  }

  private static func pages(_ api: CurlNetworkStack) async throws {
    // sample: pages
    struct Listing: Decodable, Sendable { let data: [Int], next: String? }
    let first = HTTPResource<Listing, Problem>.get("/items")
    for try await number in api.pages(first, by: .cursor(\.next, into: "page")).items(\.data) { print(number) }
    // end
  }

  private static func operation(_ api: CurlNetworkStack) async throws {
    // sample: operation
    struct Report: Decodable, Sendable { let url: String? }
    guard let handle = try await api.startOperation(.post("/reports", json: ["year": 2026])).handle else { return }
    let url: String = try await api.wait(for: handle) { body, _, _ in
      try JSONDecoder().decode(Report.self, from: body).url  // nil while the server works on it
    }
    print(url)
    // end
  }
}
