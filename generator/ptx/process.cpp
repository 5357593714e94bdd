#include "generator/ptx/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

extern char** environ;

namespace mlaindex::ptx {
namespace {

using Clock = std::chrono::steady_clock;

struct FileActions {
  posix_spawn_file_actions_t actions;
  FileActions() { posix_spawn_file_actions_init(&actions); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
};

struct Attributes {
  posix_spawnattr_t attributes;
  Attributes() { posix_spawnattr_init(&attributes); }
  ~Attributes() { posix_spawnattr_destroy(&attributes); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
};

Error trouble(const std::string& program, const std::string& what) {
  return Error{ErrorCode::internal, program + " " + what, ""};
}

// Starts the program in a process group of its own, so that all of it can be killed.
int start(const std::vector<std::string>& argv, const std::string& log, pid_t& pid) {
  FileActions files;
  posix_spawn_file_actions_addopen(&files.actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files.actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&files.actions, 1, 2);
  Attributes spawn;
  // A host may block signals in its threads; the child must not inherit that.
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&spawn.attributes, &none);
  posix_spawnattr_setpgroup(&spawn.attributes, 0);
  posix_spawnattr_setflags(&spawn.attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);

  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  return posix_spawn(&pid, arguments[0], &files.actions, &spawn.attributes, arguments.data(), environ);
}

}  // namespace

Result<int> run_process(const std::vector<std::string>& argv, const std::string& log,
                        std::chrono::milliseconds timeout) {
  const std::string& program = argv.front();
  pid_t pid = 0;
  if (const int code = start(argv, log, pid); code != 0)
    return trouble(program, std::string("cannot be started: ") + std::strerror(code));

  const auto deadline = Clock::now() + timeout;
  auto pause = std::chrono::milliseconds(1);
  int status = 0;
  for (;;) {
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid) break;
    if (ended < 0 && errno != EINTR)
      return trouble(program, std::string("was lost: ") + std::strerror(errno));
    if (Clock::now() >= deadline) {
      kill(-pid, SIGKILL);
      while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
      return trouble(program, "did not end within " + std::to_string(timeout.count()) + " ms and was killed");
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(10));
  }
  if (WIFSIGNALED(status))
    return trouble(program, "was killed by signal " + std::to_string(WTERMSIG(status)));
  return WEXITSTATUS(status);
}

}  // namespace mlaindex::ptx
