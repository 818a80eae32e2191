// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro

// sample: endpoint
struct Notes: HTTPResourceEndpoint {
  let token: Secret
  let key: Secret

  let baseURL: URL
  var path: String? { "/notes" }

  func addSecrets(to request: inout ResourceRequest) throws {
    try request.setHeader("Authorization", token, prefix: "Bearer ")
    try request.appendQueryItem("account", key)
  }
}
// end

func login(password: Secret) -> RequestBody {
  // sample: form
  .form(["grant_type": "password", "username": "ann"], secrets: ["password": password])
  // end
}

func notify(hook: Secret) throws -> ResourceRequest {
  // sample: options
  var request = try ResourceRequest(url: "https://chat.example/hooks/\(hook.reveal().pathSegment)/post")
  request.options.secrets.insert(hook)
  // end
  return request
}

extension Page {
  static let secrets = Page("Secrets") { stage in
    let github = try stage.github()
    let token = Secret("a-token-of-some-length")
    let key = Secret("an-account-of-some-length")
    guard let base = URL(string: "https://api.github.com") else { return }
    let notes = HTTPResource<NoContent, GitHubError>(
      Notes(token: token, key: key, baseURL: base), decoding: .empty)
    if let error = await stage.failure(of: notes, from: github) {
      let printed = "\(error)\(error.debugDescription)\(error.ledger)\(error.ledger.json())"
      say(error.request ?? "")
      stage.check(
        "neither is printed", !printed.contains(token.reveal()) && !printed.contains(key.reveal()))
    }
    let sent = stage.server.requests.last
    stage.check(
      "both were sent",
      sent?.headers["Authorization"] == "Bearer \(token.reveal())"
        && sent?.target == "/notes?account=\(key.reveal())")
    stage.check("a secret prints as \(Redaction.mask)", "\(token)" == Redaction.mask)
    _ = try? await github.fetch(.text(.post, at: "/login", body: login(password: "open sesame")))
    stage.check(
      "a form has it",
      stage.server.requests.last?.text.contains("password=open+sesame") == true
        || stage.server.requests.last?.text.contains("password=open%20sesame") == true)
    let request = try notify(hook: "a-hook-of-some-length")
    stage.check("a request with one in its path does not show it", !"\(request)".contains("a-hook"))
  }
}
