// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro

func raw(github: any HTTPNetworkStack) async throws {
  // sample: raw
  let bytes = try await github.fetch(.raw(GitHub.user(login: "octocat"))).value
  let user = try await github.fetchAndDecode(.raw(GitHub.user(login: "octocat")), decoding: .json(User.self)).value
  // end
  print(bytes, user)
}

func callback(github: any HTTPNetworkStack) {
  // sample: callback
  let cancelable = github.fetch(.user("octocat"), callbackOn: .mainActor) { result in
    switch result {
    case .success(let user): print(user.value.login)
    case .failure(let error): print(error.isCancelled ? "cancelled" : error.message)
    }
  }
  // end
  cancelable.cancel()
}
