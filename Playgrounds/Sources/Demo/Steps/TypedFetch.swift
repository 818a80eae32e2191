// SPDX-License-Identifier: Apache-2.0

import Lastro

extension Step {
  static let typedFetch = Step(
    title: "A typed fetch",
    explanation: """
      The API's endpoints are the cases of an enum; each call is declared once, with its model.
      A fetch returns the model and its response.
      """
  ) { stage in
    let before = stage.server.requests.count
    stage.asked("fetch(.user(\"apple\"))")
    let user = try await stage.stack.fetch(.user("apple"))
    let facts = user.response.facts
    stage.came("\(user.response.status): \(user.value.name), \(user.value.publicRepos) public repositories")
    stage.say("  HTTP/\(facts.httpVersion ?? "?") from \(facts.remoteAddress ?? "?"), \(facts.bytesReceived) bytes")
    try stage.check(
      "the user is the one asked for", user.value == User(login: "apple", name: "Apple", publicRepos: 7))

    stage.asked("fetch(.repository(\"apple\", \"swift\"))")
    let repository = try await stage.stack.fetch(.repository("apple", "swift"))
    stage.came("\(repository.response.status): \(repository.value.fullName), \(repository.value.stargazersCount) stars")
    try stage.check("the repository is the one asked for", repository.value.fullName == "apple/swift")
    try stage.check("the second fetch used the first one's connection", repository.response.facts.connectionReused)
    try stage.check(
      "the server got two requests",
      stage.requests(since: before) == ["GET /users/apple", "GET /repos/apple/swift"])
  }
}
