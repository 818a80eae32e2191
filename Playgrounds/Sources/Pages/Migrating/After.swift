// SPDX-License-Identifier: Apache-2.0
// The URL is a valid literal, so unwrapping it cannot fail.
// swift-format-ignore-file: NeverForceUnwrap

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl

// sample: models
struct Note: Codable, Sendable, Equatable {
  let id: Int
  let text: String
}

struct NewNote: Codable, Sendable {
  let text: String
}

struct NotesProblem: Error, Codable {
  let message: String
}
// end

// sample: after
enum Notebook: HTTPResourceEndpoint {
  case note(Int)
  case add(NewNote)

  var baseURL: URL { URL(string: "https://notes.example.com")! }

  var method: HTTPRequest.Method {
    switch self {
    case .note: .get
    case .add: .post
    }
  }

  var path: String? {
    switch self {
    case .note(let id): "notes/\(id)"
    case .add: "notes"
    }
  }

  func makeBody() throws -> RequestBody? {
    switch self {
    case .note: nil
    case .add(let note): try .json(note)
    }
  }
}

extension HTTPResource where Model == Note, APIError == NotesProblem {
  static func note(_ id: Int) -> Self { .init(Notebook.note(id)) }
  static func addNote(_ text: String) -> Self { .init(Notebook.add(NewNote(text: text))) }
}
// end

func notesStack(_ engine: CurlConfiguration, _ token: Secret) throws -> CurlNetworkStack {
  // sample: stack
  var policy = StackConfiguration(
    interceptors: [try .bearer(token, for: "https://notes.example.com"), .retry])
  policy.timeouts.total = .seconds(30)
  let stack = try CurlNetworkStack(engine, configuration: policy)
  // end
  return stack
}

func use(_ stack: any HTTPNetworkStack) async throws {
  // sample: use
  let note = try await stack.fetch(.note(7)).value
  do {
    let added = try await stack.fetch(.addNote("buy tea")).value
    print(note.text, added.id)
  } catch {
    print(note.text, error.statusCode?.code ?? 0, error.apiError?.message ?? error.message)
  }
  // end
}
