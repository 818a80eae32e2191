// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroCurl

extension Page {
  static let gettingStarted = Page("GettingStarted") { stage in
    // `.ci/outside` builds and `.ci/programs.py` runs the rest of the guide: the manifest, the program and the test.
    var policy = StackConfiguration()
    policy.interceptors = [.retry]
    policy.timeouts.total = .seconds(30)
    let github = try stage.github(policy)
    let title = try await Profiles(github: github).title(of: "octocat")
    say("the title of octocat: \(title)")
    stage.check("the name of a user is its title", title == "The Octocat")
    let repositories = try await github.fetch(.repositories(of: "apple", perPage: 2))
    stage.check("two repositories a page", repositories.value.count == 2)
    stage.check(
      "the requests are those of the endpoints",
      stage.requests() == ["GET /users/octocat", "GET /users/apple/repos?per_page=2"])
    stage.check(
      "with the endpoint's header fields",
      stage.server.requests.allSatisfy { $0.headers["Accept"] == "application/vnd.github+json" })
    if let error = await stage.failure(of: .user("nobody"), from: github) {
      stage.check("an answer outside 200–299 is thrown, typed", error.apiError?.message == "Not Found")
    }
  }
}
