// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroEveryday
import LastroTesting

private struct Listing: Codable, Sendable {
  var data: [Int]
  var nextPageToken: String?
}

private struct Status: Codable, Sendable {
  var state: String
  var report: String?
}

private func stack(_ steps: [ScriptedTransport.Step]) -> TransportNetworkStack {
  var configuration = StackConfiguration()
  configuration.timeSource = ManualClock(autoAdvance: true).timeSource
  return TransportNetworkStack(transport: ScriptedTransport(steps), configuration: configuration)
}

private func links() async throws {
  guard let link = HTTPField.Name("Link") else { return }
  let stack = stack([
    .respond(status: .ok, headers: [link: "<?page=2>; rel=\"next\""], body: "[1,2]"),
    .respond(status: .ok, body: "[3]"),
  ])
  // sample: links
  let first = HTTPResource<[Int], TextAPIError>.get("https://api.example.org/items")
  for try await page in stack.pages(first, by: .link) {
    print(page.value, page.response.url)
  }
  // end
}

private func cursors() async throws {
  let stack = stack([
    .respond(status: .ok, body: #"{"data":[1,2],"nextPageToken":"a"}"#), .respond(status: .ok, body: #"{"data":[3]}"#),
  ])
  // sample: cursors
  let first = HTTPResource<Listing, TextAPIError>.get("https://api.example.org/items")
  for try await number in stack.pages(first, by: .cursor(\.nextPageToken, into: "pageToken")).items(\.data) {
    print(number)
  }
  // end
}

private func resumed() async throws {
  guard let link = HTTPField.Name("Link") else { return }
  let stack = stack([
    .respond(status: .ok, headers: [link: "<?page=2>; rel=\"next\""], body: "[1,2]"), .respond(status: .badGateway),
    .respond(status: .ok, body: "[3]"),
  ])
  let first = HTTPResource<[Int], TextAPIError>.get("https://api.example.org/items")
  // sample: resumed
  var next: NextPage?
  do {
    for try await page in stack.pages(first, by: .link) { next = page.next }
  } catch {
    print("failed: \(error.message)")
  }
  for try await page in stack.pages(first, by: .link, from: next) { print(page.value) }
  // end
}

private func operations() async throws {
  let stack = stack([
    .respond(status: .accepted, headers: [.location: "/operations/1"]),
    .respond(status: .ok, headers: [.retryAfter: "2"], body: #"{"state":"running"}"#),
    .respond(status: .ok, body: #"{"state":"done","report":"42 rows"}"#),
  ])
  // sample: operations
  let order = RawHTTPResource.send(.post, "https://api.example.org/reports")
  guard let handle = try await stack.startOperation(order).handle else { return }
  print(handle.statusURL)
  let report: String = try await stack.wait(for: handle) { body, _, _ in
    try JSONDecoder().decode(Status.self, from: body).report
  }
  print(report)
  // end
}

extension Page {
  static let pagesAndOperations = Page("PagesAndOperations") { stage in
    try await stage.prints("links") { try await links() }
    try await stage.prints("cursors") { try await cursors() }
    try await stage.prints("resumed") { try await resumed() }
    try await stage.prints("operations") { try await operations() }
  }
}
