// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro

extension Step {
  static let createIssue = Step(
    title: "A POST with a JSON body",
    explanation: "The body is one line of the endpoint: .json(issue). Its length and type are set from it."
  ) { stage in
    let before = stage.server.requests.count
    let title = "It does not build on “Tuesdays”"
    stage.asked("fetch(.createIssue(\"apple\", \"swift\", title: \"\(title)\", labels: [\"bug\"]))")
    let issue = try await stage.stack.fetch(.createIssue("apple", "swift", title: title, labels: ["bug"]))
    stage.came("\(issue.response.status): #\(issue.value.number), \(issue.value.state)")
    stage.say("  Location: \(issue.response.headerFields[.location] ?? "none")")
    try stage.check("the status is 201", issue.response.status == .created)
    try stage.check(
      "the issue has what was sent",
      issue.value == Issue(number: 1, title: title, labels: ["bug"], state: "open"))
    let sent = stage.server.requests.dropFirst(before)
    try stage.check(
      "the server got one POST of type application/json",
      sent.count == 1 && sent.first?.method == "POST" && sent.first?.headers["Content-Type"] == "application/json")
  }
}
