// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
internal import LastroSupport

/// The routes of the demo API.
package final class DemoRoutes: Sendable {
  /// The maximum size of an archive: 64 MiB.
  private static let largestArchive = 64 << 20

  private struct State {
    var attempts: [String: Int] = [:]
    var limited: Set<String> = []
    var issues: [String: Int] = [:]
  }

  package let payments = DemoPayments()
  private let token: String
  private let endpoint: DemoTokenEndpoint
  private let state = Lock(State())

  package init(token: String, endpoint: DemoTokenEndpoint) {
    self.token = token
    self.endpoint = endpoint
  }

  package func respond(to request: LoopbackRequest) throws -> LoopbackResponse {
    let segments = request.pathSegments
    let isRead = request.method == "GET" || request.method == "HEAD"
    switch (isRead, segments.first, segments.count) {
    case (true, "users", 2): return try user(segments[1])
    case (true, "users", 3) where segments[2] == "repos": return try repositories(of: segments[1], request)
    case (true, "repos", 3): return try repository("\(segments[1])/\(segments[2])")
    case (true, "repos", 4) where segments[3] == "archive":
      return try archive("\(segments[1])/\(segments[2])", request)
    case (false, "repos", 4) where segments[3] == "issues" && request.method == "POST":
      return try createIssue("\(segments[1])/\(segments[2])", request)
    case (false, "repos", 5) where segments[3] == "issues" && request.method == "PATCH":
      return try changeIssue(segments[4], of: "\(segments[1])/\(segments[2])")
    case (true, "flaky", 2):
      return try flaky(segments[1], failures: Int(digits: request.queryItem("failures") ?? "") ?? 1)
    case (true, "slow", 1): return .fault(.stall)
    case (true, "private", 1): return try secret(request)
    case (true, "limited", 2): return try limited(segments[1], request)
    case (false, "payments", 1) where request.method == "POST": return try payments.respond(to: request)
    case (true, "payments", 1): return .json(#"{"made":\#(payments.made)}"#)
    case (_, "oauth", 2) where segments[1] == "token": return try endpoint.respond(to: request)
    case (false, "oauth", 2) where segments[1] == "tokens" && request.method == "DELETE":
      return .json(#"{"revoked":\#(endpoint.tokens.revokeAccess())}"#)
    default: return try DemoAnswer.notFound()
    }
  }

  // MARK: routes

  private func user(_ login: String) throws -> LoopbackResponse {
    guard let user = DemoModels.users.first(where: { $0.login == login }) else { return try DemoAnswer.notFound() }
    return try DemoAnswer.json(user)
  }

  private func repositories(of login: String, _ request: LoopbackRequest) throws -> LoopbackResponse {
    guard DemoModels.users.contains(where: { $0.login == login }) else { return try DemoAnswer.notFound() }
    guard let page = Int(digits: request.queryItem("page") ?? "1"), page >= 1 else {
      return try DemoAnswer.invalid("page")
    }
    guard let size = Int(digits: request.queryItem("per_page") ?? "30"), (1...100).contains(size) else {
      return try DemoAnswer.invalid("per_page")
    }
    let all = DemoModels.repositories.filter { $0.owner.login == login }
    let last = max(1, (all.count + size - 1) / size)
    let start = page > last ? all.count : (page - 1) * size
    let response = try DemoAnswer.json(Array(all[start..<min(all.count, start + size)]))
    guard page < last else { return response }
    let base = "https://\(request.head["Host"] ?? "localhost")\(request.path)"
    let links = [(page + 1, "next"), (last, "last")].map { number, relation in
      "<\(base)?page=\(number)&per_page=\(size)>; rel=\"\(relation)\""
    }
    return response.adding("Link", links.joined(separator: ", "))
  }

  private func repository(_ name: String) throws -> LoopbackResponse {
    guard let repository = DemoModels.repositories.first(where: { $0.fullName == name }) else {
      return try DemoAnswer.notFound()
    }
    return try DemoAnswer.json(repository)
  }

  private func archive(_ name: String, _ request: LoopbackRequest) throws -> LoopbackResponse {
    guard DemoModels.repositories.contains(where: { $0.fullName == name }) else { return try DemoAnswer.notFound() }
    let count = Int(digits: request.queryItem("bytes") ?? "65536") ?? -1
    guard (0...Self.largestArchive).contains(count) else { return try DemoAnswer.invalid("bytes") }
    let body = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      for index in 0..<count { buffer.initializeElement(at: index, to: UInt8(truncatingIfNeeded: index)) }
      initialized = count
    }
    return LoopbackResponse(headers: ["Content-Type": "application/octet-stream"], body: body)
  }

  private func createIssue(_ repository: String, _ request: LoopbackRequest) throws -> LoopbackResponse {
    guard DemoModels.repositories.contains(where: { $0.fullName == repository }) else {
      return try DemoAnswer.notFound()
    }
    guard let new = try? JSONDecoder().decode(DemoModels.NewIssue.self, from: Data(request.body)) else {
      return try DemoAnswer.failure(400, "Problems parsing JSON")
    }
    guard let title = new.title else { return try DemoAnswer.invalid("title", code: "missing_field") }
    guard !title.isEmpty else { return try DemoAnswer.invalid("title") }
    let number = state.withLock { state in
      state.issues[repository, default: 0] += 1
      return state.issues[repository, default: 0]
    }
    let issue = DemoModels.Issue(number: number, title: title, body: new.body, labels: new.labels ?? [])
    return try DemoAnswer.json(issue, status: 201).adding("Location", "/repos/\(repository)/issues/\(number)")
  }

  private func changeIssue(_ number: String, of repository: String) throws -> LoopbackResponse {
    let last = state.withLock { $0.issues[repository] ?? 0 }
    guard let number = Int(digits: number), number >= 1, number <= last else { return try DemoAnswer.notFound() }
    return LoopbackResponse(status: 204)
  }

  private func flaky(_ key: String, failures: Int) throws -> LoopbackResponse {
    let attempts = state.withLock { state in
      state.attempts[key, default: 0] += 1
      return state.attempts[key, default: 0]
    }
    if attempts <= failures { return try DemoAnswer.failure(503, "Service temporarily unavailable") }
    return try DemoAnswer.json(DemoModels.Flaky(key: key, attempts: attempts))
  }

  private func limited(_ key: String, _ request: LoopbackRequest) throws -> LoopbackResponse {
    guard let seconds = Int(digits: request.queryItem("retry_after") ?? "1") else {
      return try DemoAnswer.invalid("retry_after")
    }
    let isFirst = state.withLock { $0.limited.insert(key).inserted }
    if isFirst { return try DemoAnswer.failure(429, "Too Many Requests").adding("Retry-After", "\(seconds)") }
    return try DemoAnswer.json(["key": key])
  }

  private func secret(_ request: LoopbackRequest) throws -> LoopbackResponse {
    guard let credentials = request.head["Authorization"] else {
      return try DemoAnswer.failure(401, "Requires authentication").adding("WWW-Authenticate", #"Bearer realm="demo""#)
    }
    let words = credentials.split(separator: " ", maxSplits: 1).map(String.init)
    guard words.count == 2, words[0].lowercased() == "bearer", words[1] == token || endpoint.tokens.isLive(words[1])
    else {
      // RFC 6750 §3.1
      return try DemoAnswer.failure(401, "Bad credentials")
        .adding("WWW-Authenticate", #"Bearer realm="demo", error="invalid_token""#)
    }
    return try DemoAnswer.json(["secret": "the cake is real"])
  }
}
