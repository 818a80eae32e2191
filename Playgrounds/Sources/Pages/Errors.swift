// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroTesting

// sample: switch
func describe(_ login: String, github: any HTTPNetworkStack) async -> String {
  do throws(HTTPFetchError<GitHubError>) {
    return try await github.fetch(.user(login)).value.login
  } catch {
    switch error.reason {
    case .http(.notFound, _): return "there is no \(login)"
    case .http(_, let apiError?): return "the API says: \(apiError.message)"
    case .cancelled: return "cancelled"
    case .decode(let failure): return "not what we expected, at \(failure.codingPath)"
    default: return "\(error.stage.rawValue)/\(error.code): \(error.hint ?? error.message)"
    }
  }
}
// end

private func again(_ first: Fetched<User, ResourceResponse>, github: any HTTPNetworkStack) async throws {
  // sample: if modified
  let again = try await github.fetch(HTTPResource.user("octocat").ifModified(since: first.response))
  print(again.value?.login ?? "unchanged", again.response.status.code)
  // end
}

private func record(_ error: HTTPFetchError<GitHubError>) {
  // sample: record
  print(error)  // one line: stage, code, message, hint
  print(error.ledger)  // every attempt, and what came between
  // end
}

private func explainEnd(_ error: HTTPFetchError<GitHubError>) {
  // sample: retry end
  switch error.retryEnd {
  case .policy(.retries(let limit)): print("still failing after \(limit) retries")
  case .quotaSpent(let origin): print("\(origin) fails for all calls: not asked again")
  case let end?: print(end)
  case nil: print("no interceptor wanted to retry")
  }
  // end
}

private func recordForMachines(_ error: HTTPFetchError<GitHubError>) {
  // sample: json
  print(error.ledger.json())
  let wasSent = error.ledger.attempts.contains(where: \.requestSent)
  // end
  say("a byte of it may have left: \(wasSent)")
}

private func compare(github: any HTTPNetworkStack) async {
  // sample: fetch or decode
  do throws(FetchAndDecodeError<HTTPFetchError<any Error>>) {
    _ = try await github.fetchAndDecode(.raw(GitHub.user(login: "octocat")), decoding: .json(Repository.self))
  } catch {
    switch error {
    case .fetch(let failure): print("the fetch failed:", failure)
    case .decode(let failure): print("status \(failure.status?.code ?? 0), but", failure)
    case .cancelled: print("cancelled")
    }
  }
  // end
}

extension Page {
  static let errors = Page("Errors") { stage in
    let github = try stage.github()
    stage.check("a 404 is told", await describe("nobody", github: github) == "there is no nobody")
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await describe("octocat", github: github)
    }
    stage.check("so is cancellation", await task.value == "cancelled")
    var configuration = StackConfiguration()
    configuration.interceptors = [.retry]
    let flaky = HTTPResource<String, GitHubError>.text(at: "/flaky/errors?failures=9")
    if let error = await stage.failure(of: flaky, from: try stage.github(configuration)) {
      await stage.prints("record") { record(error) }
      await stage.prints("retry end") { explainEnd(error) }
      stage.check("the stage is the failure's own", error.stage == .http && error.ledger.attempts.count == 3)
      stage.check("every failure is kept", error.retryFailure?.state.errors.count == 3)
    }
    if let error = await stage.failure(of: .user("nobody"), from: github) {
      await stage.prints("json") { recordForMachines(error) }
    }
    let unchanged = TransportNetworkStack(
      transport: ScriptedTransport([
        .respond(status: 200, headers: [.eTag: "\"1\""], body: #"{"login":"octocat"}"#), .respond(status: 304),
      ]))
    let first = try await unchanged.fetch(.user("octocat"))
    try await stage.prints("if modified") { try await again(first, github: unchanged) }
    await stage.prints("fetch or decode") { await compare(github: github) }
  }
}
