// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro

private func raw(github: any HTTPNetworkStack) async throws {
  // sample: raw
  let bytes = try await github.fetch(.raw(GitHub.user(login: "octocat"))).value
  let user = try await github.fetchAndDecode(.raw(GitHub.user(login: "octocat")), decoding: .json(User.self)).value
  // end
  print(bytes, user)
}

private func callback(github: any HTTPNetworkStack) -> any Cancelable {
  // sample: callback
  let cancelable = github.fetch(.user("octocat")) { result in
    switch result {
    case .success(let user): print(user.value.login)
    case .failure(let error): print(error.isCancelled ? "cancelled" : error.message)
    }
  }
  // end
  return cancelable
}

extension Page {
  static let bytesAndCallbacks = Page("BytesAndCallbacks") { stage in
    let github = try stage.github()
    try await raw(github: github)
    stage.check("two requests for two fetches", stage.requests().count == 2)
    transcript.removeAll()
    _ = callback(github: github)
    while transcript.events.isEmpty { await Task.yield() }
    stage.check("the completion is called once", transcript.removeAll() == ["octocat"])
    let (outcomes, outcome) = AsyncStream.makeStream(of: Bool.self)
    let slow = github.fetch(.text(at: "/slow")) { result in
      if case .failure(let error) = result { outcome.yield(error.isCancelled) } else { outcome.yield(false) }
    }
    slow.cancel()
    stage.check("also when it was cancelled", await outcomes.first { _ in true } == true)
  }
}
