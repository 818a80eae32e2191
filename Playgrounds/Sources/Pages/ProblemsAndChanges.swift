// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroEveryday
import LastroTesting
import Logging

private struct Chore: Codable, Sendable {
  var title: String
  var isDone: Bool
}

private struct Order: Decodable, Sendable { var id: Int }

private func stack(_ steps: [ScriptedTransport.Step], _ configuration: StackConfiguration = .init())
  -> TransportNetworkStack
{
  var configuration = configuration
  configuration.timeSource = ManualClock(autoAdvance: true).timeSource
  return TransportNetworkStack(transport: ScriptedTransport(steps), configuration: configuration)
}

private func problem() async throws {
  let stack = stack([
    .respond(
      status: .conflict, headers: [.contentType: "application/problem+json"],
      body: """
        {"type": "https://shop.example.org/problems/stock", "title": "Out of stock", "detail": "Only 3 are left.", "available": 3}
        """)
  ])
  // sample: problem
  struct Shortage: Decodable { let available: Int }

  let order = HTTPResource.get("https://shop.example.org/orders/7", as: Order.self, or: ProblemDetails.self)
  do {
    _ = try await stack.fetch(order)
  } catch {
    print(error)
    if error.apiError?.type == "https://shop.example.org/problems/stock" {
      print("available:", try error.apiError?.members(as: Shortage.self).available ?? 0)
    }
  }
  // end
}

private func update() async throws {
  let stack = stack([
    .respond(status: .ok, headers: [.eTag: "\"1\""], body: #"{"title":"Buy milk","isDone":false}"#),
    .respond(status: .preconditionFailed),
    .respond(status: .ok, headers: [.eTag: "\"2\""], body: #"{"title":"Buy oat milk","isDone":false}"#),
    .respond(status: .ok, headers: [.eTag: "\"3\""], body: #"{"title":"Buy oat milk","isDone":true}"#),
  ])
  // sample: update
  let url = "https://api.example.org/notes/7"
  let answer = try await stack.update(.get(url, as: Chore.self, or: ProblemDetails.self)) { chore in
    chore.isDone
      ? nil : HTTPResource<Chore, ProblemDetails>.put(url, json: Chore(title: chore.title, isDone: true))
  }
  print(answer?.value.title ?? "nothing to change")
  // end
}

private func patches() throws {
  // sample: patches
  let merge: MergePatch = ["title": "Hello!", "author": ["familyName": .remove]]
  let list: JSONPatch = [.test(["version"], 3), .append(to: ["tags"], "new")]
  for body in [try RequestBody.mergePatch(merge), try .jsonPatch(list)] {
    print(body.contentType ?? "none")
  }
  // end
}

private func deprecations() async throws {
  guard let deprecation = HTTPField.Name("Deprecation"), let sunset = HTTPField.Name("Sunset") else { return }
  var configuration = StackConfiguration()
  let logger: Logger? = nil
  // sample: deprecations
  configuration.observers.append(.deprecations(logger) { notice in print(notice) })
  // end
  let fields: HTTPFields = [deprecation: "@1688169599", sunset: "Sun, 30 Jun 2024 23:59:59 GMT"]
  let stack = stack([.respond(status: .ok, headers: fields), .respond(status: .ok, headers: fields)], configuration)
  for _ in 1...2 { _ = try await stack.fetch(RawHTTPResource.get("https://api.example.org/v1/items")) }
}

extension Page {
  static let problemsAndChanges = Page("ProblemsAndChanges") { stage in
    try await stage.prints("problem") { try await problem() }
    try await stage.prints("update") { try await update() }
    try await stage.prints("patches") { try patches() }
    try await stage.prints("deprecations") { try await deprecations() }
  }
}
