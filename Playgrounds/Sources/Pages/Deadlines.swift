// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroTesting

private func limits() throws -> StackConfiguration {
  // sample: limits
  var configuration = StackConfiguration()
  configuration.timeouts.total = .seconds(30)  // the others stay as they are
  configuration.timeouts = try Timeouts(
    connect: .seconds(5), attempt: .seconds(10), idle: .seconds(5), total: .seconds(30))
  // end
  return configuration
}

// sample: one call
extension HTTPResource where Model == [Repository], APIError == GitHubError {
  static func quickly(of owner: String) throws -> Self {
    var options = RequestOptions()
    options.timeouts = try Timeouts(total: .seconds(3))
    return .init(GitHub.repositories(owner: owner, perPage: 100), options: options)
  }
}
// end

private func refused() {
  // sample: refused
  do {
    _ = try Timeouts(attempt: .seconds(60), total: .seconds(30))
  } catch {
    print(error)
  }
  // end
}

private func show(_ github: TransportNetworkStack) async {
  // sample: explain
  print(await github.explain(.user("octocat")))
  // end
}

/// An authenticator that waits longer than any caller's deadline.
private struct SlowAuthenticator: RequestAuthenticator, HTTPResourceInterceptor {
  func authenticate(_ request: ResourceRequest) async throws -> ResourceRequest {
    try await Task.sleep(for: .seconds(600))
    return request
  }
}

extension Page {
  static let deadlines = Page("Deadlines") { stage in
    let github = try stage.github(try limits())
    await stage.prints("refused") { refused() }

    var slow = HTTPResource.text(at: "/slow")
    slow.options.timeouts = try Timeouts(total: .milliseconds(500))
    if let error = await stage.failure(of: slow, from: github) {
      await stage.prints("total") { print(error) }
      stage.check("a server that never answers", error.code == .totalTimeout)
    }

    var hooked = HTTPResource.text(at: "/users/octocat", through: [SlowAuthenticator()])
    hooked.options.timeouts = slow.options.timeouts
    if let error = await stage.failure(of: hooked, from: github) {
      await stage.prints("hook") { print(error) }
      stage.check(
        "a hook that overstays", error.code == .totalTimeout && !error.ledger.attempts.contains(where: \.requestSent))
    }

    var retried = HTTPResource.text(
      at: "/flaky/deadline?failures=9",
      through: [.retry(.backoff(.constant(delay: .seconds(60), until: .maxRetries(3))))])
    retried.options.timeouts = try Timeouts(total: .seconds(30))
    if let error = await stage.failure(of: retried, from: github) {
      await stage.prints("wait") { print(error.retryEnd?.description ?? "retried") }
      stage.check("a wait that cannot end in time is not begun", error.ledger.elapsed < .seconds(29))
    }
    _ = try await github.fetch(.quickly(of: "apple"))

    var configuration = try limits()
    configuration.interceptors = [.retry]
    await stage.prints("explain") {
      await show(TransportNetworkStack(transport: ScriptedTransport(), configuration: configuration))
    }
    stage.check("explaining sends nothing", !stage.requests().contains("GET /users/octocat"))
  }
}
