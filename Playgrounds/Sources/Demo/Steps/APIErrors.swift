// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro

extension Step {
  static let apiErrors = Step(
    title: "Errors, typed",
    explanation: """
      fetch throws HTTPFetchError<ForgeError>: its apiError is the API's own error, decoded, and no `any Error`.
      Whatever the body holds, status and header fields are there too.
      """
  ) { stage in
    let before = stage.server.requests.count
    stage.asked("fetch(.user(\"nobody\"))")
    do {
      _ = try await stage.stack.fetch(.user("nobody"))
      try stage.check("a user who is not there is an error", false)
    } catch let error as HTTPFetchError<ForgeError> {
      stage.came("\(error)")
      try stage.check("the status is 404", error.statusCode == .notFound)
      try stage.check("the API says \"Not Found\"", error.apiError?.message == "Not Found")
    }

    stage.asked("fetch(.createIssue(\"apple\", \"swift\", title: \"\"))")
    do throws(HTTPFetchError<ForgeError>) {
      _ = try await stage.stack.fetch(.createIssue("apple", "swift", title: ""))
    } catch {
      guard case .http(let status, let apiError?) = error.reason else { throw error }
      let fields = apiError.errors ?? []
      stage.came(
        "\(status): \(apiError.message): \(fields.map { "\($0.field) is \($0.code)" }.joined(separator: ", "))")
      try stage.check("the status is 422", status.code == 422)
      try stage.check("the API names the field", fields == [ForgeError.Field(field: "title", code: "invalid")])
      try stage.check("nothing was retried: the server got two requests", stage.requests(since: before).count == 2)
      return
    }
    try stage.check("an issue without a title is an error", false)
  }
}
