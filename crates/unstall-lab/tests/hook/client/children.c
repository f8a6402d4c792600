/* `children CLOSED [OTHER]`: starts itself in every way that programs start others, OTHER being the client of the other bitness; each child
   makes one connect, and its line is printed behind the way. */
#include "client.h"

/* A line of a child is read from a pipe. */
static int run(const wchar_t *way, const wchar_t *command, DWORD flags, void *environment, int in_job)
{
    wchar_t line[2048];
    char text[4096] = "";
    SECURITY_ATTRIBUTES inherit = { sizeof inherit, NULL, TRUE };
    HANDLE from, to, job = in_job ? CreateJobObjectW(NULL, NULL) : NULL;
    PROCESS_INFORMATION process = { 0 };
    CreatePipe(&from, &to, &inherit, 0);
    SetHandleInformation(from, HANDLE_FLAG_INHERIT, 0);
    STARTUPINFOW startup = { .cb = sizeof startup, .dwFlags = STARTF_USESTDHANDLES, .hStdInput = GetStdHandle(STD_INPUT_HANDLE),
                             .hStdOutput = to, .hStdError = GetStdHandle(STD_ERROR_HANDLE) };
    wcsncpy(line, command, 2047);
    line[2047] = 0;
    BOOL started = CreateProcessW(NULL, line, NULL, NULL, TRUE, flags, environment, NULL, &startup, &process);
    DWORD error = started ? 0 : GetLastError(), code = 999, had = 0, room = sizeof text - 1;
    CloseHandle(to);
    if (started && job)
        AssignProcessToJobObject(job, process.hProcess);
    DWORD was_suspended = started && flags & CREATE_SUSPENDED ? ResumeThread(process.hThread) : 0;
    char *end = text;
    while (started && room && ReadFile(from, end, room, &had, NULL) && had)
        end += had, room -= had;
    *end = 0;
    if (started) {
        WaitForSingleObject(process.hProcess, LIMIT_MS);
        GetExitCodeProcess(process.hProcess, &code);
        CloseHandle(process.hProcess);
        CloseHandle(process.hThread);
    }
    CloseHandle(from);
    if (job)
        CloseHandle(job);
    text[strcspn(text, "\r\n")] = 0;
    printf("%ls\tstarted=%d error=%lu exit=%lu suspended=%lu\t%s\n", way, started, error, code, was_suspended, text);
    fflush(stdout);
    return 0;
}

/* An environment block with nothing in it but what Windows itself needs, and Wine. */
static wchar_t *poor_environment(void)
{
    static wchar_t block[32768];
    static const wchar_t *const kept[] = { L"SystemRoot", L"SystemDrive", L"PATH", L"WINEPREFIX", L"UNSTALL_RTOSHIM_LOG" };
    wchar_t *end = block;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        wchar_t value[8192];
        if (GetEnvironmentVariableW(kept[i], value, 8192))
            end += _snwprintf(end, block + 32000 - end, L"%ls=%ls", kept[i], value) + 1;
    }
    *end = 0;
    return block;
}

/* Two processes deep, by a script as npm's shims are. */
static void run_script(const wchar_t *self, const wchar_t *what)
{
    wchar_t path[MAX_PATH], command[2048];
    GetTempPathW(MAX_PATH, path);
    wcsncat(path, L"unstall-client.cmd", MAX_PATH - wcslen(path) - 1);
    FILE *script = _wfopen(path, L"w");
    if (!script)
        return;
    fwprintf(script, L"@echo off\r\n\"%ls\" %ls %%*\r\n", self, what);
    fclose(script);
    _snwprintf(command, 2048, L"cmd.exe /d /c \"%ls\" script", path);
    run(L"script", command, 0, NULL, 0);
    DeleteFileW(path);
}

int children(int count, char **words)
{
    wchar_t self[MAX_PATH], what[64], plain[2048], shell[2048];
    GetModuleFileNameW(NULL, self, MAX_PATH);
    _snwprintf(what, 64, L"one connect %hs", words[0]);
    _snwprintf(plain, 2048, L"\"%ls\" %ls child", self, what);
    _snwprintf(shell, 2048, L"cmd.exe /d /c \"%ls\" %ls child", self, what);
    run(L"plain", plain, 0, NULL, 0);
    run(L"cmd", shell, 0, NULL, 0);
    run_script(self, what);
    run(L"suspended", plain, CREATE_SUSPENDED, NULL, 0);
    run(L"environment", plain, CREATE_UNICODE_ENVIRONMENT, poor_environment(), 0);
    run(L"environment-cmd", shell, CREATE_UNICODE_ENVIRONMENT, poor_environment(), 0);
    run(L"job", plain, CREATE_SUSPENDED, NULL, 1);
    run(L"group", plain, CREATE_NEW_PROCESS_GROUP | CREATE_NO_WINDOW, NULL, 0);
    run(L"detached", plain, DETACHED_PROCESS, NULL, 0);
    run(L"missing", L"no-such-program.exe", 0, NULL, 0);
    if (count > 1) {
        wchar_t other[2048];
        _snwprintf(other, 2048, L"\"%hs\" %ls child", words[1], what);
        run(L"other", other, 0, NULL, 0);
    }
    return 0;
}
