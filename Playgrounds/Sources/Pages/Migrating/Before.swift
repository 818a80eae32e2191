// SPDX-License-Identifier: Apache-2.0

import Foundation
import FoundationNetworking

// sample: before
struct NotesByURLSession {
  let session: URLSession
  let base: URL
  let token: String

  func note(_ id: Int) async throws -> Note {
    try JSONDecoder().decode(Note.self, from: try await answer(to: request("notes/\(id)")))
  }

  func add(_ text: String) async throws -> Note {
    var request = request("notes")
    request.httpMethod = "POST"
    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    request.httpBody = try JSONEncoder().encode(NewNote(text: text))
    return try JSONDecoder().decode(Note.self, from: try await answer(to: request))
  }

  private func request(_ path: String) -> URLRequest {
    var request = URLRequest(url: base.appending(path: path), timeoutInterval: 30)
    request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
    return request
  }

  private func answer(to request: URLRequest) async throws -> Data {
    for retry in 0... {
      let (data, response) = try await session.data(for: request)
      let status = (response as? HTTPURLResponse)?.statusCode ?? 0
      if (200..<300).contains(status) { return data }
      // A POST is sent again as well, and Retry-After is not read.
      guard status == 503, retry < 2 else { throw NotesProblem(message: "status \(status)") }
      try await Task.sleep(for: .milliseconds(50 << retry))
    }
    throw CancellationError()
  }
}
// end

/// Returns the guide's client with a session that stores nothing on disk.
func notesByURLSession(at base: URL, token: String) -> NotesByURLSession {
  NotesByURLSession(session: URLSession(configuration: .ephemeral), base: base, token: token)
}
