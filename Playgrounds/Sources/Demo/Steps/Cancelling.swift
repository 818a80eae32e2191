// SPDX-License-Identifier: Apache-2.0

import Lastro

extension Step {
  static let cancelling = Step(
    title: "A cancelled fetch",
    explanation: """
      /slow never answers. Cancelling the task ends the fetch at once, at whatever stage it is, with the cancelled error.
      The callback form hands out a Cancelable, and completes exactly once.
      """
  ) { stage in
    let before = stage.server.requests.count
    stage.asked("fetch(.slow), cancelled when the server has the request")
    let task = Task { try await stage.stack.fetch(.slow) }
    try await stage.server.waitForRequests(count: before + 1)
    task.cancel()
    let error = await failure(of: task)
    stage.came(error.map { "\($0)" } ?? "no error")
    try stage.check("it is the cancelled error", error?.isCancelled == true && error?.stage == .cancelled)

    stage.asked("fetch(.slow) { result in … }, cancelled the same way")
    let (results, continuation) = AsyncStream.makeStream(of: Bool.self)
    let cancelable = stage.stack.fetch(.slow) { result in
      if case .failure(let error) = result { continuation.yield(error.isCancelled) } else { continuation.yield(false) }
      continuation.finish()
    }
    try await stage.server.waitForRequests(count: before + 2)
    cancelable.cancel()
    cancelable.cancel()
    var outcomes: [Bool] = []
    for await outcome in results { outcomes.append(outcome) }
    stage.came("the completion ran, with the cancelled error")
    try stage.check("the completion got the cancelled error", outcomes == [true])
    try stage.check("the server got each request once", stage.requests(since: before) == ["GET /slow", "GET /slow"])
  }
}

private func failure(
  of task: Task<Fetched<NoContent, ResourceResponse>, any Error>
) async -> HTTPFetchError<ForgeError>? {
  switch await task.result {
  case .success: nil
  case .failure(let error): error as? HTTPFetchError<ForgeError>
  }
}
