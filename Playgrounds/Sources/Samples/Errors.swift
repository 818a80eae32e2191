// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro

// sample: switch
func describe(_ login: String, github: any HTTPNetworkStack) async -> String {
  do throws(HTTPFetchError<GitHubError>) {
    return try await github.fetch(.user(login)).value.login
  } catch {
    switch error.reason {
    case .http(.notFound, _): return "there is no \(login)"
    case .http(_, let apiError?): return "the API says: \(apiError.message)"
    case .cancelled: return "cancelled"
    case .decode(let failure): return "not what we expected, at \(failure.codingPath)"
    case .retry(let why, let state): return "\(why), after \(state.errors.count) failures"
    default: return "\(error.stage.rawValue)/\(error.code): \(error.hint ?? error.message)"
    }
  }
}
// end

func record(_ error: HTTPFetchError<GitHubError>) {
  // sample: record
  print(error)  // one line: stage, code, message, hint
  print(error.debugDescription)  // every attempt, and what the body said, masked
  let wasSent = error.attempts.contains(where: \.requestSent)
  // end
  print(wasSent)
}

func compare(github: any HTTPNetworkStack) async {
  // sample: fetch or decode
  do throws(FetchAndDecodeError<HTTPFetchError<any Error>>) {
    _ = try await github.fetchAndDecode(.raw(GitHub.user(login: "octocat")), decoding: .json(User.self))
  } catch {
    switch error {
    case .fetch(let failure): print("the fetch failed:", failure)
    case .decode(let failure): print("status \(failure.status?.code ?? 0), but", failure)
    case .cancelled: print("cancelled")
    }
  }
  // end
}
